"""One agent in one environment, episode after episode, each with a seed of its own."""

import hashlib
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces

from vast.errors import UserError
from vast.replay.episodes import MAX_ACTIONS
from vast.training.protocol import Agent, Env, Intervention, Observation, State, Transition
from vast.training.tally import Tally

log = logging.getLogger(__name__)

SETTINGS = ("map_name", "reversed")
"""what an experiment may change in a world between episodes, if the world has it"""


@dataclass(frozen=True)
class Spaces:
    """What an agent must know of an environment before it meets it."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    n_actions: int


def spaces_of(env: Env) -> Spaces:
    """Return what an agent must know; UserError if no agent can act there."""
    seen, done = env.observation_space, env.action_space
    if not isinstance(done, spaces.Discrete) or done.start != 0 or done.n > MAX_ACTIONS:
        raise UserError(
            f"action space {done}: allowed is Discrete(n), starting at 0, n up to {MAX_ACTIONS}"
        )
    if not isinstance(seen, spaces.Box):
        raise UserError(f"observation space {seen}: allowed is Box, of bytes or floats")
    image = len(seen.shape) == 3 and seen.dtype == np.uint8
    vector = len(seen.shape) == 1 and np.issubdtype(seen.dtype, np.floating)
    if not (image or vector):
        raise UserError(
            f"observations of shape {seen.shape} and type {seen.dtype}: "
            "allowed are images (rows, columns, channels) of uint8 and vectors (n,) of floats"
        )
    return Spaces(tuple(seen.shape), np.dtype(seen.dtype), int(done.n))


class Actor:
    """Lets an agent live in an environment, and can bring both back to the middle of an episode.

    Every episode is reset with a seed drawn from the actor's generator. Most worlds are
    deterministic given that seed and the actions, so that an episode is restored by living
    through it again; where that leads elsewhere, a new episode begins.
    """

    def __init__(self, env: Env, seed: np.random.SeedSequence) -> None:
        self.env = env
        self._rng = np.random.default_rng(seed)
        self._leave()
        self.episodes = 0
        """episodes ended"""
        self._tally = Tally()

    def step(self, agent: Agent) -> None:
        """Take one step, after a reset if an episode has ended."""
        if not self._in_episode:
            agent.begin(self._reset())
        action = agent.decide()
        observation, reward, terminated, truncated = self._act(action)
        agent.observe(action, reward, observation, terminated, truncated)
        self._return += reward
        self._tally.add("train/reward_per_step", reward)
        if terminated or truncated:
            self.episodes += 1
            self._tally.add("train/mean_return", self._return)
            self._leave()

    def intervene(self, agent: Agent, intervention: Intervention) -> None:
        """Abandon the episode, and let something happen to the world or be shown to the agent."""
        if self._in_episode:
            agent.cut()
        self._reset()  # whatever chance there is in what follows comes from our generator
        self._leave()
        shown = _Shown(agent)
        intervention.apply(self.env, shown)
        shown.end()

    def metrics(self) -> dict[str, float]:
        """Return rewards and returns in training since the last call."""
        return {"train/episodes": self.episodes, **self._tally.means()}

    def _reset(self) -> Observation:
        self._seed = int(self._rng.integers(2**31))
        return self._begin()

    def _leave(self) -> None:
        """Be between two episodes."""
        self._in_episode = False
        self._seed = 0
        self._actions: list[int] = []
        self._trace = hashlib.blake2b()
        self._return = 0.0

    def _begin(self) -> Observation:
        observation, _ = self.env.reset(seed=self._seed)
        self._actions, self._return = [], 0.0
        self._trace = hashlib.blake2b(np.asarray(observation).tobytes())
        self._in_episode = True
        return np.asarray(observation)

    def _act(self, action: int) -> tuple[Observation, float, bool, bool]:
        observation, reward, terminated, truncated, _ = self.env.step(np.int64(action))
        seen = np.asarray(observation)
        self._actions.append(action)
        self._trace.update(seen.tobytes())
        return seen, float(reward), bool(terminated), bool(truncated)

    # --- saving -----------------------------------------------------------------------------------

    def state_dict(self) -> State:
        """Return what it takes to be here again."""
        return {
            "rng": self._rng.bit_generator.state,
            "settings": self._world(),
            "in_episode": self._in_episode,
            "seed": self._seed,
            "actions": np.array(self._actions, np.int64),
            "trace": self._trace.hexdigest(),
            "return": self._return,
            "episodes": self.episodes,
            "tally": self._tally.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any], agent: Agent) -> None:
        """Be there again; if the episode cannot be lived through again, the agent is told."""
        self._rng.bit_generator.state = state["rng"]
        self.load_world(state)
        self._tally.load_state_dict(state["tally"])
        self.episodes = int(state["episodes"])
        self._leave()
        if not state["in_episode"]:
            return
        self._seed = int(state["seed"])
        if self._relive(state):
            self._return = float(state["return"])
        else:
            self._leave()
            agent.cut()
            log.warning(
                "the episode in progress did not repeat itself when it was lived through again "
                "(seed %d, %d steps): a new one begins",
                state["seed"],
                len(state["actions"]),
            )

    def _relive(self, state: Mapping[str, Any]) -> bool:
        self._begin()
        for action in state["actions"].tolist():
            *_, terminated, truncated = self._act(action)
            if terminated or truncated:
                return False
        return bool(self._trace.hexdigest() == state["trace"])

    # --- the world's settings ---------------------------------------------------------------------

    def load_world(self, state: Mapping[str, Any]) -> None:
        """Give the world the settings it had, and nothing else."""
        _set_world(self.env, state["settings"])

    def copy_world_to(self, env: Env) -> None:
        """Give another environment the settings that this one has now."""
        _set_world(env, self._world())

    def _world(self) -> State:
        world = self.env.unwrapped
        return {name: getattr(world, name) for name in SETTINGS if hasattr(world, name)}


def _set_world(env: Env, settings: Mapping[str, Any]) -> None:
    world: Any = env.unwrapped
    for name, value in settings.items():
        if name == "map_name":
            world.set_map(value)
        else:
            setattr(world, name, value)


class _Shown:
    """Hands an agent the transitions of one episode that somebody else acted out."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._open = False

    def __call__(self, transition: Transition) -> None:
        if not self._open:
            self._agent.begin(np.asarray(transition.observation))
        self._agent.observe(
            transition.action,
            transition.reward,
            np.asarray(transition.next_observation),
            transition.terminated,
            transition.truncated,
        )
        self._open = not (transition.terminated or transition.truncated)

    def end(self) -> None:
        if self._open:
            self._agent.cut()
