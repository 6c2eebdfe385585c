"""Fig. 1C, D: what a single run without reward does to the values of a trained agent.

The run begins in an arm that was shut during training and ends in the stem, before the goal. The
first observations are new states; those in the stem are states that the agent knows. Planning
carries the values of the known states back along the run. No network is changed.
"""

from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vast.agents.vast.mind import VaSTMind
from vast.agents.vast.policy import TablePolicy
from vast.experiments.interventions import FORCED_RUNS, ForcedRun
from vast.planning import TransitionTable
from vast.training.protocol import Env

Values = NDArray[np.float64]

LOOK_STEPS = 3000
LOOK_EPSILON = 0.5
"""how long, and with how many random actions, an agent is led through its world to look at it"""


@dataclass(frozen=True)
class Views:
    """Observations, and where they were made."""

    poses: NDArray[np.float64]
    """[n, 3] x, y, and heading in degrees; nan in a world that does not tell"""
    frames: NDArray[Any]
    """[n, *shape] the observations as they are stored"""
    states: NDArray[np.uint64]
    """the state of each of them"""


@dataclass(frozen=True)
class OneRun:
    """The figure's data. A value is nan where the table does not know the state."""

    around: Views
    """what the agent sees in the world it knows"""
    run: Views
    """what it sees on the forced run"""
    around_values: tuple[Values, Values]
    """of the states in `around`, before the run and after"""
    run_values: tuple[Values, Values]
    """of the states on the run"""
    backups: int
    """of planning that the run set off"""
    same_networks: bool
    """whether every number in the networks is what it was"""

    @property
    def new(self) -> NDArray[np.bool_]:
        """Which observations of the run were of unknown states."""
        return np.isnan(self.run_values[0])


def show_run(
    mind: VaSTMind,
    env: Env,
    run: ForcedRun = FORCED_RUNS["t-maze"],
    *,
    steps: int = LOOK_STEPS,
    epsilon: float = LOOK_EPSILON,
    seed: int = 0,
) -> OneRun:
    """Let an agent watch the run, and return its values before and after.

    The agent is changed: the run is in its replay and its table. The environment is used for
    looking around, too; it must not be the one that the agent is trained in.
    """
    around = look_around(mind, env, steps, epsilon, seed)
    if mind.replay.in_episode:
        mind.cut()
    mind.settle()
    networks = _fingerprint(mind)
    done = mind.table.total_backups

    transitions = list(run.play(env))
    policy = mind.policy(0.0, np.random.default_rng(seed))
    policy.begin(transitions[0].observation)
    views = _Collector(policy)
    views.add(run.start)
    for step in transitions:
        policy.observe(np.asarray(step.next_observation), step.action)
        views.add(_pose(step.info))
    seen = views.all()
    before = [values(mind.table, views.states) for views in (around, seen)]

    mind.begin(np.asarray(transitions[0].observation))
    for step in transitions:
        mind.observe(
            step.action,
            step.reward,
            np.asarray(step.next_observation),
            step.terminated,
            step.truncated,
        )
    if mind.replay.in_episode:
        mind.cut()
    mind.settle()
    after = [values(mind.table, views.states) for views in (around, seen)]
    return OneRun(
        around=around,
        run=seen,
        around_values=(before[0], after[0]),
        run_values=(before[1], after[1]),
        backups=mind.table.total_backups - done,
        same_networks=_fingerprint(mind) == networks,
    )


def look_around(
    mind: VaSTMind, env: Env, steps: int = LOOK_STEPS, epsilon: float = LOOK_EPSILON, seed: int = 0
) -> Views:
    """Return what an agent sees in its world; it learns nothing from it."""
    acting, resetting = np.random.SeedSequence(seed).spawn(2)
    seeds = np.random.default_rng(resetting)
    policy = mind.policy(epsilon, np.random.default_rng(acting))
    views = _Collector(policy)
    ended = True
    while len(views) < steps:
        if ended:
            observation, info = env.reset(seed=int(seeds.integers(2**31)))
            policy.begin(np.asarray(observation))
        views.add(_pose(info))
        observation, _, terminated, truncated, info = env.step(np.int64(policy.act()))
        ended = bool(terminated or truncated)
        if not ended:
            policy.observe(np.asarray(observation))
    return views.all()


def values(table: TransitionTable, states: NDArray[np.uint64]) -> Values:
    """Return V of each state, nan if no action was ever taken there."""
    known = {}
    for state in np.unique(states).tolist():
        taken = any(table.count(state, action) for action in range(table.n_actions))
        known[state] = table.value(state) if taken else np.nan
    return np.array([known[state] for state in states.tolist()])


class _Collector:
    """Gathers what a policy sees."""

    def __init__(self, policy: TablePolicy) -> None:
        self._policy = policy
        self._frames: list[NDArray[Any]] = []
        self._states: list[int] = []
        self._poses: list[tuple[float, float, float]] = []

    def __len__(self) -> int:
        return len(self._poses)

    def add(self, pose: tuple[float, float, float]) -> None:
        """Note what is seen now, and from where."""
        self._frames.append(self._policy.history()[-1])
        self._states.append(self._policy.state())
        self._poses.append(pose)

    def all(self) -> Views:
        """Return it all."""
        return Views(
            np.array(self._poses, np.float64),
            np.stack(self._frames),
            np.array(self._states, np.uint64),
        )


def _pose(info: dict[str, Any]) -> tuple[float, float, float]:
    x, y, angle = (float(info.get(name, np.nan)) for name in ("x", "y", "angle"))
    return x, y, angle


def _fingerprint(mind: VaSTMind) -> str:
    """Return a hash of every number in the networks."""
    found = blake2b()
    for name, value in sorted(mind.tabulator.state_dict().items()):
        found.update(name.encode())
        found.update(np.ascontiguousarray(value).tobytes())
    return found.hexdigest()
