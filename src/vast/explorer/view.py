"""What there is to look at: a saved run's table, its states on a map, and the frames they hold."""

from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from vast.agents.table import TableAgent
from vast.analysis.states import States, collect, states_of
from vast.envs.doom.world import FloorPlan
from vast.errors import UserError
from vast.experiments.runs import Run
from vast.explorer.places import Places, places_of
from vast.planning import TransitionTable
from vast.replay import Replay
from vast.training.protocol import Env


@runtime_checkable
class Decoder(Protocol):
    """An encoder that can also tell what a state looks like."""

    def decode(self, keys: NDArray[np.uint64]) -> NDArray[np.floating[Any]]:
        """Return the expected observation in each state, images in [0, 1]."""
        ...


@dataclass(frozen=True)
class View:
    """A table and what is known of its states; shared by all pages, and never changed."""

    table: TransitionTable
    states: States
    places: Places
    title: str
    """the task, or whatever the table is of"""
    facts: dict[str, str] = field(default_factory=dict)
    """what else to say about it, by name"""
    actions: tuple[str, ...] = ()
    """their names"""
    plan: FloorPlan | None = None
    replay: Replay | None = None
    decoder: Decoder | None = None
    run: Run | None = None
    """if there is a world to drive in"""

    def age(self, row: int) -> int:
        """Return how many frames ago a state was last seen; -1 if no frame of it is stored."""
        return int(self.ages()[row])

    def ages(self) -> NDArray[np.int64]:
        """Return how many frames ago each state was last seen; -1 if no frame is stored."""
        last = self.states.last
        return np.where(last >= 0, self.states.frames_end - 1 - last, -1)

    def frames(self, row: int, start: int, count: int) -> NDArray[Any]:
        """Return some of the frames that a state holds, oldest first."""
        if self.replay is None or not self.replay.has_frames or row >= len(self.states):
            return np.empty((0,))
        numbers = self.states.frames(row)[start : start + count]
        return self.replay.frames(numbers) if len(numbers) else np.empty((0,))

    def decoded(self, key: int) -> NDArray[np.floating[Any]] | None:
        """Return what the decoder makes of a state."""
        if self.decoder is None:
            return None
        found: NDArray[np.floating[Any]] = self.decoder.decode(np.array([key], np.uint64))[0]
        return found

    def new_env(self) -> Env:
        """Return a world like the one of the run, as it was when the run was saved."""
        if self.run is None:
            raise UserError("there is no world to drive in: this is a table without a run")
        config = self.run.config
        env = config.make_env()
        self.run.copy_env_settings(env)
        return env


def view_of_table(
    table: TransitionTable, title: str = "a table", places: Places | None = None
) -> View:
    """Return the view of a table alone."""
    states = collect(table)
    return View(
        table=table,
        states=states,
        places=places or places_of(states, table),
        title=title,
        actions=tuple(str(action) for action in range(table.n_actions)),
    )


def view_of_run(run: Run) -> View:
    """Return the view of a saved run; UserError if its agent has no table, or an empty one."""
    agent = run.agent
    if not isinstance(agent, TableAgent):
        raise UserError(f"the agent {run.config.agent!r} has no table to explore")
    if not len(agent.table):
        raise UserError("the table is empty: train the run for longer")
    states = states_of(agent)
    replay = agent.frame_store
    env = run.config.make_env()
    try:
        run.copy_env_settings(env)
        world: Any = env.unwrapped
        plan = world.floor_plan() if hasattr(world, "floor_plan") else None
        actions = action_names(world, agent.n_actions)
    finally:
        env.close()
    return View(
        table=agent.table,
        states=states,
        places=places_of(states, agent.table),
        title=run.config.task,
        facts={
            "agent": run.config.agent,
            "preset": run.config.preset,
            "seed": str(run.config.seed),
            "steps": f"{agent.steps:,}",
        },
        actions=actions,
        plan=plan,
        replay=replay if isinstance(replay, Replay) else None,
        decoder=agent.encoder if isinstance(agent.encoder, Decoder) else None,
        run=run,
    )


def action_names(world: Any, n_actions: int) -> tuple[str, ...]:
    """Return the names that an environment has for its actions, or their numbers."""
    names = getattr(world, "action_names", None)
    if names is None and hasattr(world, "get_action_meanings"):
        names = [name.lower() for name in world.get_action_meanings()]
    if names is not None and len(names) == n_actions:
        return tuple(str(name) for name in names)
    return tuple(str(action) for action in range(n_actions))
