"""Agents that act and plan in a table, on whatever states an encoder gives.

The paper's controlled comparison is one argument: VaST learns its encoder, LSH draws random
projections, and an oracle is given the true places; the planning is the same.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vast.agents.base import Agent, Values
from vast.agents.config import TableConfig
from vast.agents.core import GreedyPolicy, SeedPair
from vast.agents.encoders import StateEncoder, require_encoder, restore, saved
from vast.agents.extension import ActionValues, Extensions
from vast.errors import UserError
from vast.planning import BackgroundSweeper, InlineSweeper, Sweeper, TransitionTable
from vast.training.exploration import greedy
from vast.training.protocol import Env, Observation, Pose, StateDict
from vast.training.spaces import Spaces


def make_sweeper(table: TransitionTable, planner: str, backups_per_step: int) -> Sweeper:
    """Return a running sweeper: inline with a budget for each step, or in the background."""
    inline = planner == "inline"
    made: Sweeper = InlineSweeper(table, backups_per_step) if inline else BackgroundSweeper(table)
    made.start()
    return made


class Visits:
    """Counts the state-action pairs met, and how many of them were revisits (Fig. 4B)."""

    def __init__(self) -> None:
        self._counts = np.zeros(2, np.int64)

    def add(self, pairs: int, revisited: int) -> None:
        """Count pairs, and those among them that had been met before."""
        self._counts += (pairs, revisited)

    @property
    def revisited(self) -> float:
        """The share of pairs that had been met before."""
        pairs, revisited = self._counts.tolist()
        return revisited / pairs if pairs else 0.0

    def counts(self) -> NDArray[np.int64]:
        """Return both counts, to be saved."""
        return self._counts.copy()

    def load_counts(self, counts: ArrayLike) -> None:
        """Continue from saved counts."""
        self._counts[:] = counts


class Decisions:
    """Greedy decisions in a table: the one path for learning and for tests.

    Q of the state comes from the table's neighbour estimate (supplement, Eq. 3), or from an
    extension; extensions adjust it; the best action wins.
    """

    def __init__(
        self,
        table: TransitionTable,
        extensions: Extensions,
        *,
        learning: bool,
        neighbours: bool = True,
    ) -> None:
        self.extensions = extensions
        self._table, self._learning, self._neighbours = table, learning, neighbours

    def estimate(self, state: int) -> ActionValues:
        """Return Q of each action; without neighbours, 0 for an action never taken there."""
        found = self.extensions.estimate(state, self._learning)
        if found is not None:
            return found
        if self._neighbours:
            return ActionValues(*self._table.estimate(state))
        q = self._table.q(state)
        return ActionValues(np.nan_to_num(q), np.where(np.isnan(q), -1, 0))

    def choose(
        self, state: int, observation: Observation, rng: np.random.Generator
    ) -> tuple[int, ActionValues]:
        """Return the greedy action in a state, and the estimate it is based on."""
        estimate = self.estimate(state)
        action = greedy(self.extensions.adjust(estimate.q, state, observation), rng)
        self.extensions.record(state, observation, action)
        return action, estimate


class TableAgent(Agent):
    """Counts each transition between encoded states as it comes, and plans.

    It has no replay, and so no extensions, which need one: VaST has both.

    Args:
        encoder: gives the states; None: the one that the config describes.

    The other arguments are those of every agent.
    """

    name = "table"
    config_class: ClassVar[type[Any]] = TableConfig

    def __init__(
        self,
        env: Env | Spaces | str,
        preset: str = "cpu",
        seed: int = 0,
        *,
        encoder: StateEncoder | None = None,
        **options: Any,
    ) -> None:
        if encoder is not None:
            require_encoder(encoder)
        self._given_encoder = encoder
        super().__init__(env, preset, seed, **options)

    def _build(self, seeds: SeedPair) -> None:
        config: TableConfig = self.config
        drawing, _ = seeds
        table = TransitionTable(self.n_actions, config.discount, config.min_priority)
        sweeper = make_sweeper(table, config.planner, config.backups_per_step)
        self._assemble(self._encoder_from(drawing), table, sweeper)

    @property
    def has_own_encoder(self) -> bool:
        """Whether its states come from an encoder that the config does not describe."""
        return self._given_encoder is not None

    def _encoder_from(self, seed: np.random.SeedSequence) -> StateEncoder:
        given = self._given_encoder
        return self._make_encoder(seed) if given is None else given

    def _make_encoder(self, seed: np.random.SeedSequence) -> StateEncoder:
        """Return the encoder that the config describes."""
        raise UserError(f"{type(self).__name__} needs an encoder")

    def _assemble(
        self,
        encoder: StateEncoder,
        table: TransitionTable,
        sweeper: Sweeper,
        extensions: Extensions | None = None,
        neighbours: bool = True,
    ) -> None:
        """Put the parts of a table agent together."""
        self.encoder, self.table, self._sweeper = encoder, table, sweeper
        self.max_reward = table.max_reward
        self.extensions = extensions or Extensions()
        self._neighbours = neighbours
        self._decisions = self._new_decisions(learning=True)
        self._visits = Visits()
        self._state = 0

    def _new_decisions(self, *, learning: bool) -> Decisions:
        extensions = self.extensions if learning else self.extensions.for_policy()
        return Decisions(self.table, extensions, learning=learning, neighbours=self._neighbours)

    # --- one decision, for learning and for tests -------------------------------------------------

    def _best_action(self) -> int:
        state = self._current_state()
        action, estimate = self._decisions.choose(state, self._frames.newest, self._rng)
        # m of the action for which the search went farthest, as in the authors' code (Fig. S1C)
        self._means.add("table/lookup_distance", float(estimate.distances.max()))
        return action

    def _current_state(self) -> int:
        """Return the state of the newest frame."""
        return self._state

    def policy(self, epsilon: float = 0.0, seed: int | np.random.Generator = 0) -> "TablePolicy":
        """Return the current epsilon-greedy policy, with a random generator of its own."""
        return TablePolicy(self, epsilon, np.random.default_rng(seed))

    def values(self, history: NDArray[Any]) -> Values:
        """Return the table's estimates, as if an episode began with the newest of these frames."""
        return self._new_decisions(learning=False).estimate(self.encode(history)).q

    def encode(self, history: NDArray[Any], actions: Sequence[int] = ()) -> int:
        """Return the state of a frame after the k before it, and after these actions.

        The one that led to the frame comes first; an episode has none before its first frame.
        """
        codes = self.encoder.encode(history[None])
        needed = actions[: self.extensions.actions_needed]
        last = [(np.array([action], np.uint8), np.ones(1, np.bool_)) for action in needed]
        return int(self.extensions.tag(codes, last)[0])

    # --- experience -------------------------------------------------------------------------------

    def _begun(self, pose: Pose | None) -> None:
        self.extensions.begin_episode()
        self._state = self.encode(self._frames.history)

    def _stepped(self, action: int, reward: float, pose: Pose | None) -> None:
        before, self._state = self._state, self.encode(self._frames.history, [action])
        self._count(before, action, reward, self._state)

    def _terminated(self, action: int, reward: float) -> None:
        self._count(self._state, action, reward, None)

    def _count(self, state: int, action: int, reward: float, next_state: int | None) -> None:
        self._visits.add(1, self.table.count(state, action) > 0)
        self.table.add(state, action, reward, next_state)
        self._sweeper.plan()

    def close(self) -> None:
        """Stop planning in the background."""
        self._sweeper.stop()
        super().close()

    # --- looking ----------------------------------------------------------------------------------

    def _sizes(self) -> dict[str, float]:
        return {
            "table/states": len(self.table),
            "table/transitions": self.table.n_transitions,
            "table/backups": self.table.total_backups,
            "table/queue": self.table.queue_length,
            "table/revisited": self._visits.revisited,
        }

    def progress_stats(self) -> dict[str, float]:
        """Return a few statistics to show beside the progress bar."""
        return {
            **super().progress_stats(),
            "states": len(self.table),
            "backups/s": self._sweeper.statistics.backups_per_second,
        }

    # --- saving -----------------------------------------------------------------------------------

    def identity(self) -> StateDict:
        """Return what a checkpoint must agree with, the kind of states among it."""
        return {**super().identity(), "encoder": type(self.encoder).__name__}

    def _own_state(self) -> StateDict:
        return {
            "encoder": saved(self.encoder),
            "table": self.table.state_dict(),
            "extensions": self.extensions.state_dict(),
            "visits": self._visits.counts(),
            "state": self._state,
        }

    def _load_own_state(
        self, state: Mapping[str, Any], frames: Iterable[Mapping[str, Any]]
    ) -> None:
        restore(self.encoder, state["encoder"])
        self.table.load_state_dict(state["table"])
        self.extensions.load_state_dict(state["extensions"])
        self._visits.load_counts(state["visits"])
        self._state = int(state["state"])


class TablePolicy(GreedyPolicy):
    """Epsilon-greedy on the table's values, with an episode of its own."""

    def __init__(self, agent: TableAgent, epsilon: float, rng: np.random.Generator) -> None:
        super().__init__(agent, epsilon, rng)
        self._table_agent = agent
        self._decisions = agent._new_decisions(learning=False)
        self._chosen: int | None = None  # the action chosen last
        self._last: list[int] = []  # the actions of the episode that states need, newest first
        self._state: int | None = None  # of the newest frame, once it was asked for

    def begin(self, observation: ArrayLike) -> None:
        """Start an episode with its first observation; the frames before it are blank."""
        super().begin(observation)
        self._decisions.extensions.begin_episode()
        self._chosen = self._state = None
        self._last = []

    def act(self) -> int:
        """Choose an action."""
        self._chosen = super().act()
        return self._chosen

    def observe(self, observation: ArrayLike, action: int | None = None) -> None:
        """See what followed the action chosen last, or `action` if another one was taken."""
        super().observe(observation)
        taken = self._chosen if action is None else action
        if taken is not None:
            needed = self._decisions.extensions.actions_needed
            self._last = [taken, *self._last][:needed]
        self._state = None

    def q_values(self) -> Values:
        """Return Q(s, a) of each action at the current observation."""
        return self._decisions.estimate(self.state()).q

    def state(self) -> int:
        """Return the state of the newest frame."""
        if self._state is None:
            self._state = self._table_agent.encode(self._frames.history, self._last)
        return self._state

    def _best_action(self) -> int:
        return self._decisions.choose(self.state(), self._frames.newest, self._rng)[0]
