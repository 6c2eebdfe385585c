"""Driving: the real environment, stepped by hand, by the agent or by a what-if's values."""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vast.agents.table import TableAgent, TablePolicy
from vast.errors import UserError
from vast.experiments.interventions import FORCED_RUNS, forced_run
from vast.explorer.edits import Shown, Steps
from vast.explorer.view import View
from vast.planning import TransitionTable
from vast.training.protocol import Env
from vast.training.spaces import is_lost, pose_of

NOWHERE = (np.nan, np.nan, np.nan)


class Moment(NamedTuple):
    """What the agent sees and knows at one step."""

    frame: NDArray[Any]
    pose: tuple[float, float, float]
    state: int
    step: int
    """since the episode began"""
    action: int | None
    """that led here"""
    reward: float
    total: float
    """the return so far"""
    ended: str
    """how the episode ended; empty if it goes on"""


class Drive:
    """One environment, started when it is first needed, and one episode in it after another."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._env: Env | None = None
        self._policy: TablePolicy | None = None
        self._episodes = 0
        self._moment: Moment | None = None

    @property
    def _agent(self) -> TableAgent:
        agent = self._view.run.agent if self._view.run else None
        if not isinstance(agent, TableAgent):
            raise UserError("there is no world to drive in: this is a table without a run")
        return agent

    def start(self) -> Moment:
        """Begin an episode."""
        env = self._running()
        seed = (self._view.run.config.seed if self._view.run else 0) + self._episodes
        self._episodes += 1
        observation, info = env.reset(seed=seed)
        self._policy = self._agent.policy(0.0, seed)
        self._policy.begin(np.asarray(observation))
        self._moment = Moment(
            self._policy.history()[-1],
            pose_of(info) or NOWHERE,
            self._policy.state(),
            *(0, None, 0.0, 0.0, ""),
        )
        return self._moment

    def step(self, action: int | None, table: TransitionTable | None) -> Moment:
        """Take an action; None takes the agent's, or the best one by the values of a table."""
        if self._moment is None or self._policy is None or self._moment.ended:
            return self.start()
        if action is None and table is None:
            action = self._policy.act()
        elif action is None and table is not None:
            action = int(table.estimate(self._moment.state)[0].argmax())
        assert action is not None
        if action >= self._agent.n_actions:
            raise UserError(f"action must be between 0 and {self._agent.n_actions - 1}")
        observation, reward, terminated, truncated, info = self._running().step(np.int64(action))
        before = self._moment
        ended = "the step was lost" if is_lost(info) else ""
        ended = ended or ("the episode ended" if terminated else "out of time" if truncated else "")
        if not ended:
            self._policy.observe(np.asarray(observation), action)
        self._moment = Moment(
            self._policy.history()[-1],
            pose_of(info) or NOWHERE,
            self._policy.state(),
            before.step + 1,
            action,
            float(reward),
            before.total + float(reward),
            ended,
        )
        return self._moment

    def q(self, table: TransitionTable | None) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return Q of each action here, and the distance from which it comes."""
        assert self._moment is not None
        return (table or self._agent.table).estimate(self._moment.state)

    # --- the paper's forced runs ------------------------------------------------------------------

    def runs(self) -> list[str]:
        """Return the names of the forced runs that can take place in this task."""
        task = self._view.run.config.task if self._view.run else ""
        return [name for name in FORCED_RUNS if name == task or name.startswith(f"{task}-")]

    def show(self, name: str) -> tuple[Shown, NDArray[np.uint64], NDArray[np.float64]]:
        """Drive a forced run; return what it adds to a table, and its states and their poses."""
        if name not in self.runs():
            raise UserError(f"there is no forced run {name!r} in this task")
        self._moment = None
        experience = list(forced_run(name).play(self._running()))
        policy = self._agent.policy(0.0, 0)
        policy.begin(np.asarray(experience[0].observation))
        states, poses = [policy.state()], [experience[0].pose or NOWHERE]
        for step in experience:
            if not step.terminated:
                policy.observe(np.asarray(step.next_observation), step.action)
                states.append(policy.state())
                poses.append(step.next_pose or NOWHERE)
        following = [after for _, after in pairwise(states)]
        ends = experience[-1].terminated
        steps = Steps(
            np.array(states[: len(experience)], np.uint64),
            np.array([step.action for step in experience], np.int64),
            np.array([step.reward for step in experience]),
            np.array([*following, 0] if ends else following, np.uint64),
            np.array([step.terminated for step in experience]),
        )
        return Shown(name, steps), np.array(states, np.uint64), np.array(poses, np.float64)

    def _running(self) -> Env:
        if self._env is None:
            self._env = self._view.new_env()
        return self._env

    def close(self) -> None:
        """Stop the environment."""
        if self._env is not None:
            self._env.close()
            self._env = None
