"""Fig. 1C, D: what a single run without reward does to the values of a trained agent.

The run begins in an arm that was shut during training and ends in the stem, before the goal. The
first observations have new states; those in the stem have states that the agent knows. Planning
carries the values of the known states back along the run. No network changes.
"""

from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice
from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vast.agents.encoders import saved
from vast.agents.table import TablePolicy
from vast.agents.vast.agent import VaST
from vast.experiments.interventions import FORCED_RUNS, ForcedRun
from vast.planning import TransitionTable
from vast.training.actor import Demonstration
from vast.training.protocol import Env, Pose
from vast.training.rollout import episode_seeds, rollout
from vast.training.spaces import pose_of

Values = NDArray[np.float64]

LOOK_STEPS = 3000
LOOK_EPSILON = 0.5
"""steps, and share of random actions, of the rollout that shows the agent's states"""
UNKNOWN_POSE = (nan, nan, nan)


@dataclass(frozen=True)
class Views:
    """Observations and their poses."""

    poses: NDArray[np.float64]
    """[n, 3] x, y, and heading in degrees; nan where the environment does not tell"""
    frames: NDArray[Any]
    """[n, *shape] the observations as they are stored"""
    states: NDArray[np.uint64]
    """of each of them"""


@dataclass(frozen=True)
class OneRun:
    """The figure's data. A value is nan where the table does not know the state."""

    around: Views
    """what the agent sees in the maze it was trained in"""
    run: Views
    """what it sees on the forced run"""
    around_values: tuple[Values, Values]
    """of the states in `around`, before the run and after"""
    run_values: tuple[Values, Values]
    """of the states on the run"""
    backups: int
    """that the run triggered"""
    same_networks: bool
    """whether every weight of the networks is unchanged"""

    @property
    def new(self) -> NDArray[np.bool_]:
        """Which observations of the run had unknown states."""
        return np.isnan(self.run_values[0])


def show_run(
    agent: VaST,
    env: Env,
    run: ForcedRun = FORCED_RUNS["t-maze"],
    *,
    steps: int = LOOK_STEPS,
    epsilon: float = LOOK_EPSILON,
    seed: int = 0,
) -> OneRun:
    """Let an agent watch the run, and return its values before and after.

    The agent changes: the run is then in its replay and its table. The environment is also used to
    look around; it must not be the one in which the agent is trained.
    """
    around = look_around(agent, env, steps, epsilon, seed)
    agent.cut()
    agent.plan_fully()
    networks = _fingerprint(agent)
    done = agent.table.total_backups

    experience = list(run.play(env))
    policy = agent.policy(0.0, seed)
    policy.begin(np.asarray(experience[0].observation))
    collector = _Collector(policy)
    collector.add(experience[0].pose)
    for step in experience:
        policy.observe(np.asarray(step.next_observation), step.action)
        collector.add(step.next_pose)
    seen = collector.views()
    before = [values(agent.table, views.states) for views in (around, seen)]

    demonstration = Demonstration(agent)
    for step in experience:
        demonstration(step)
    demonstration.end()
    agent.plan_fully()
    after = [values(agent.table, views.states) for views in (around, seen)]
    return OneRun(
        around=around,
        run=seen,
        around_values=(before[0], after[0]),
        run_values=(before[1], after[1]),
        backups=agent.table.total_backups - done,
        same_networks=_fingerprint(agent) == networks,
    )


def look_around(
    agent: VaST, env: Env, steps: int = LOOK_STEPS, epsilon: float = LOOK_EPSILON, seed: int = 0
) -> Views:
    """Return what an agent sees in its environment; it learns nothing from it."""
    acting, resetting = np.random.SeedSequence(seed).spawn(2)
    policy = agent.policy(epsilon, np.random.default_rng(acting))
    collector = _Collector(policy)
    for step in islice(rollout(policy, env, episode_seeds(resetting)), steps):
        collector.add(pose_of(step.info))
    return collector.views()


def values(table: TransitionTable, states: NDArray[np.uint64]) -> Values:
    """Return V of each state, nan if no action was ever taken there."""
    known = {}
    for state in np.unique(states).tolist():
        taken = any(table.count(state, action) for action in range(table.n_actions))
        known[state] = table.value(state) if taken else np.nan
    return np.array([known[state] for state in states.tolist()])


class _Collector:
    """Collects what a policy sees."""

    def __init__(self, policy: TablePolicy) -> None:
        self._policy = policy
        self._frames: list[NDArray[Any]] = []
        self._states: list[int] = []
        self._poses: list[Pose] = []

    def add(self, pose: Pose | None) -> None:
        """Add the current frame and its state, seen from a pose."""
        self._frames.append(self._policy.history()[-1])
        self._states.append(self._policy.state())
        self._poses.append(pose or UNKNOWN_POSE)

    def views(self) -> Views:
        """Return everything collected."""
        return Views(
            np.array(self._poses, np.float64),
            np.stack(self._frames),
            np.array(self._states, np.uint64),
        )


def _fingerprint(agent: VaST) -> str:
    """Return a hash of every weight of the networks."""
    found = blake2b()
    for name, value in sorted(saved(agent.encoder).items()):
        found.update(name.encode())
        found.update(np.ascontiguousarray(value).tobytes())
    return found.hexdigest()
