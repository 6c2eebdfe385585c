"""A saved agent as the views see it: its states and values, and the world they are in."""

from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vast.agents.base import Agent
from vast.agents.table import TableAgent
from vast.analysis.states import Floats, States, states_of
from vast.analysis.what_ifs import usual_start
from vast.envs.doom.world import FloorPlan
from vast.experiments.config import RunConfig
from vast.experiments.runs import open_readonly
from vast.model.tabulator import Tabulator
from vast.planning import TransitionTable
from vast.replay import Replay
from vast.training.protocol import Env
from vast.training.rollout import episode_seeds, rollout
from vast.training.spaces import pose_of

LOOK_STEPS = 3000
LOOK_EPSILON = 0.5
"""steps, and share of random actions, in which an agent without poses in a replay looks around"""

SWAPPED = {"goal": "penalty", "penalty": "goal"}


@dataclass(frozen=True)
class Snapshot:
    """An agent when it was last saved. What it does not have is None."""

    config: RunConfig
    steps: int
    """environment steps it had taken"""
    n_actions: int
    shape: tuple[int, ...]
    """of an observation"""
    table: TransitionTable | None
    states: States | None
    """of the table"""
    replay: Replay | None
    decoder: Tabulator | None
    """that makes observations of states"""
    plan: FloorPlan | None
    """the walls of its world"""
    poses: Floats
    """[n, 3] of its states, or of what it observed; empty if nothing is known of places"""
    values: Floats
    """[n] of each of them"""
    by_state: bool
    """whether poses and values are those of `states`, row by row"""
    start: int | None
    """a state in which many episodes began, if the replay tells"""

    @property
    def has_places(self) -> bool:
        """Whether it is known where the agent was."""
        return bool(np.isfinite(self.poses[:, :2]).any())


def snapshot(directory: str | Path) -> Snapshot:
    """Return the agent of a run directory as it was last saved; the run is only read.

    An agent that keeps no poses looks around in an environment of its own, if that tells where it
    is. UserError if nothing was saved yet.
    """
    with open_readonly(Path(directory)) as run:
        agent, config = run.agent, run.config
        env = config.make_env()
        run.copy_env_settings(env)
        try:
            return _taken(agent, config, env)
        finally:
            env.close()


def _taken(agent: Agent, config: RunConfig, env: Env) -> Snapshot:
    tabular = agent if isinstance(agent, TableAgent) else None
    states = states_of(tabular) if tabular else None
    store = agent.frame_store
    replay = store if isinstance(store, Replay) else None
    start = usual_start(tabular.table, states, replay) if tabular and states and replay else None
    poses, values = np.empty((0, 3)), np.empty(0)
    by_state = states is not None
    if states is not None:
        poses, values = states.pose, states.value
    unplaced = (states is None or len(states)) and not np.isfinite(poses[:, :2]).any()
    if unplaced and config.own_env is None:
        seen, found = look_around(agent, env)
        if len(seen):
            poses, values, by_state = seen, found, False
    encoder = tabular.encoder if tabular else None
    return Snapshot(
        config=config,
        steps=agent.steps,
        n_actions=agent.n_actions,
        shape=agent.shape,
        table=tabular.table if tabular else None,
        states=states,
        replay=replay,
        decoder=encoder if isinstance(encoder, Tabulator) else None,
        plan=plan_of(env),
        poses=poses,
        values=values,
        by_state=by_state,
        start=start,
    )


def look_around(
    agent: Agent, env: Env, steps: int = LOOK_STEPS, epsilon: float = LOOK_EPSILON, seed: int = 0
) -> tuple[Floats, Floats]:
    """Return where any agent is when it acts half at random, and the values it sees there.

    It learns nothing, and stops at once if the environment does not tell where it is.
    """
    acting, resetting = np.random.SeedSequence(seed).spawn(2)
    policy = agent.policy(epsilon, np.random.default_rng(acting))
    poses: list[Any] = []
    values: list[float] = []
    for step in islice(rollout(policy, env, episode_seeds(resetting)), steps):
        pose = pose_of(step.info)
        if pose is None:
            break
        poses.append(pose)
        values.append(float(np.max(policy.q_values())))
    return np.array(poses, np.float64).reshape(-1, 3), np.array(values)


def plan_of(env: Env) -> FloorPlan | None:
    """Return the walls and zones of an environment as it is now, None if nobody knows them.

    Where rewards are reversed, goals are penalties and penalties are goals.
    """
    world: Any = env.unwrapped
    plan: FloorPlan | None = world.floor_plan() if hasattr(world, "floor_plan") else None
    if plan is None or not getattr(world, "reversed", False):
        return plan
    areas = [replace(area, kind=SWAPPED.get(area.kind, area.kind)) for area in plan.areas]
    return replace(plan, areas=areas)


# --- places without coordinates -----------------------------------------------------------------


def layout(view: Snapshot) -> Floats:
    """Return a place for each state of a task without coordinates, [S, 3], without headings.

    By the two directions in which they differ most: vectors in the mean observation of each state,
    images in their codes.
    """
    if view.states is None:
        return np.empty((0, 3))
    states, features = view.states, view.states.bits.astype(np.float64)
    if view.replay is not None and len(view.shape) == 1 and len(states.frame_numbers):
        frames = view.replay.frames(states.frame_numbers).astype(np.float64)
        of = np.repeat(np.arange(len(states)), states.frame_counts)
        held = np.maximum(states.frame_counts, 1)[:, None]
        sums = [np.bincount(of, column, len(states)) for column in frames.T]
        features = np.stack(sums, axis=1) / held
        features[states.frame_counts == 0] = np.nan
        features /= np.maximum(np.nanstd(features, axis=0), 1e-12)
    return np.column_stack([principal(features), np.full(len(states), np.nan)])


def principal(features: NDArray[np.float64]) -> Floats:
    """Return the first two principal components of each row, [n, 2]; nan where a row has nan."""
    found = np.full((len(features), 2), np.nan)
    known = np.isfinite(features).all(axis=1)
    centred = features[known] - features[known].mean(axis=0) if known.any() else features[known]
    _, vectors = np.linalg.eigh(centred.T @ centred)
    axes = vectors[:, ::-1][:, :2]
    # The sign of an eigenvector is arbitrary: let its largest entry be positive.
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])])
    found[known, : axes.shape[1]] = centred @ axes
    return found
