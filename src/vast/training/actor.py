"""One agent in one environment, episode after episode, each with a seed of its own."""

import hashlib
import logging
from collections.abc import Mapping
from typing import Any

import numpy as np

from vast.training.protocol import (
    Env,
    Experience,
    Intervention,
    Observation,
    Pose,
    StateDict,
    Trainable,
)
from vast.training.running_means import RunningMeans
from vast.training.spaces import counted_events, is_lost, pose_of

log = logging.getLogger(__name__)


class Actor:
    """Steps an agent through an environment, and can restore both in the middle of an episode.

    Every episode is reset with a seed drawn from the actor's generator. Most environments are
    deterministic given that seed and the actions, so an episode is restored by replaying its
    actions. If that leads elsewhere, a new episode begins.
    """

    def __init__(self, env: Env, seed: np.random.SeedSequence) -> None:
        self.env = env
        self._counted = counted_events(env)
        self._rng = np.random.default_rng(seed)
        self._leave()
        self.episodes = 0
        """episodes ended"""
        self._means = RunningMeans()

    def step(self, agent: Trainable) -> None:
        """Take one step, after a reset if the last episode has ended."""
        if not self._in_episode:
            agent.begin(*self._reset())
        action = agent.decide()
        outcome = self._act(action)
        if outcome is None:
            agent.cut()
            self._leave()
            return
        observation, reward, terminated, truncated, pose = outcome
        agent.observe(action, reward, observation, terminated, truncated, pose)
        self._return += reward
        self._means.add("train/reward_per_step", reward)
        if terminated or truncated:
            self.episodes += 1
            self._means.add("train/mean_return", self._return)
            for event in self._counted:
                self._means.add(f"train/with_{event}", event in self._events)
            self._leave()

    def intervene(self, agent: Trainable, intervention: Intervention) -> None:
        """Abandon the episode, then change the environment or let the agent watch something."""
        if self._in_episode:
            agent.cut()
        self._reset()  # so that any randomness in the intervention comes from our generator
        self._leave()
        demonstration = Demonstration(agent)
        intervention.apply(self.env, demonstration)
        demonstration.end()

    def metrics(self) -> dict[str, float]:
        """Return rewards and returns in training since the last call."""
        return {"train/episodes": self.episodes, **self._means.means()}

    def _reset(self) -> tuple[Observation, Pose | None]:
        self._seed = int(self._rng.integers(2**31))
        return self._begin()

    def _leave(self) -> None:
        """Be between two episodes."""
        self._in_episode = False
        self._seed = 0
        self._actions: list[int] = []
        self._trace = hashlib.blake2b()
        self._return = 0.0
        self._events: set[str] = set()

    def _begin(self) -> tuple[Observation, Pose | None]:
        observation, info = self.env.reset(seed=self._seed)
        self._actions, self._return, self._events = [], 0.0, set()
        self._trace = hashlib.blake2b(np.asarray(observation).tobytes())
        self._in_episode = True
        return np.asarray(observation), pose_of(info)

    def _act(self, action: int) -> tuple[Observation, float, bool, bool, Pose | None] | None:
        """Take a step in the environment; return None if it was lost, and the episode with it."""
        observation, reward, terminated, truncated, info = self.env.step(np.int64(action))
        if is_lost(info):
            return None
        seen = np.asarray(observation)
        self._actions.append(action)
        if info.get("event") in self._counted:
            self._events.add(info["event"])
        self._trace.update(seen.tobytes())
        return seen, float(reward), bool(terminated), bool(truncated), pose_of(info)

    # --- saving -----------------------------------------------------------------------------------

    def state_dict(self) -> StateDict:
        """Return what it takes to restore the episode."""
        return {
            "rng": self._rng.bit_generator.state,
            "settings": env_settings(self.env),
            "in_episode": self._in_episode,
            "seed": self._seed,
            "actions": np.array(self._actions, np.int64),
            "trace": self._trace.hexdigest(),
            "return": self._return,
            "episodes": self.episodes,
            "means": self._means.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any], agent: Trainable) -> None:
        """Restore the episode; if it does not repeat itself, cut the agent's episode."""
        self._rng.bit_generator.state = state["rng"]
        set_env_settings(self.env, state["settings"])
        self._means.load_state_dict(state["means"])
        self.episodes = int(state["episodes"])
        self._leave()
        if not state["in_episode"]:
            return
        self._seed = int(state["seed"])
        if self._repeat(state):
            self._return = float(state["return"])
        else:
            self._leave()
            agent.cut()
            log.warning(
                "the episode in progress (seed %d, %d steps) did not repeat itself when its "
                "actions were replayed: a new one begins",
                state["seed"],
                len(state["actions"]),
            )

    def _repeat(self, state: Mapping[str, Any]) -> bool:
        self._begin()
        for action in state["actions"].tolist():
            outcome = self._act(action)
            if outcome is None:
                return False
            _, _, terminated, truncated, _ = outcome
            if terminated or truncated:
                return False
        return bool(self._trace.hexdigest() == state["trace"])


def env_settings(env: Env) -> StateDict:
    """Return the settings that an environment declares as mutable between episodes."""
    world = env.unwrapped
    return {name: getattr(world, name) for name in getattr(world, "mutable_settings", ())}


def set_env_settings(env: Env, settings: Mapping[str, Any]) -> None:
    """Give an environment the settings of another one, or of an earlier moment."""
    for name, value in settings.items():
        setattr(env.unwrapped, name, value)


class Demonstration:
    """Passes an agent the steps of one episode that it did not decide."""

    def __init__(self, agent: Trainable) -> None:
        self._agent = agent
        self._open = False

    def __call__(self, step: Experience) -> None:
        """Let the agent observe a step."""
        if not self._open:
            self._agent.begin(np.asarray(step.observation), step.pose)
        self._agent.observe(
            step.action,
            step.reward,
            np.asarray(step.next_observation),
            step.terminated,
            step.truncated,
            step.next_pose,
        )
        self._open = not (step.terminated or step.truncated)

    def end(self) -> None:
        """End the episode here, if it goes on."""
        if self._open:
            self._agent.cut()
