"""The interface of a transition table, as the replay uses it."""

from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from vast.replay.ring import Numbers

States = NDArray[np.uint64]
Actions = NDArray[np.uint8]
Rewards = NDArray[np.float64]
Flags = NDArray[np.bool_]


class Table(Protocol):
    """Counts transitions, one at a time; `next_state=None` makes one terminal."""

    def add(self, state: int, action: int, reward: float, next_state: int | None, /) -> None:
        """Add a transition."""

    def delete(self, state: int, action: int, reward: float, next_state: int | None, /) -> None:
        """Delete a transition."""


@runtime_checkable
class BatchTable(Protocol):
    """Counts many transitions at once, such as `vast.planning.TransitionTable`.

    If a call raises an error, the table must not have changed.
    """

    def add_many(self, s: States, a: Actions, r: Rewards, t: States, ends: Flags, /) -> None:
        """Add transitions."""

    def delete_many(self, s: States, a: Actions, r: Rewards, t: States, ends: Flags, /) -> None:
        """Delete transitions."""


class TransitionBatch(NamedTuple):
    """Transitions in columns, in the order of the arguments of `add_many`."""

    states: States
    actions: Actions
    rewards: Rewards
    next_states: States
    """0 where the transition is terminal"""
    terminals: Flags
    numbers: Numbers
    """the number of the frame that each transition leaves, which gives its age"""

    @property
    def columns(self) -> tuple[States, Actions, Rewards, States, Flags]:
        """The arguments of `add_many` and `delete_many`."""
        return self.states, self.actions, self.rewards, self.next_states, self.terminals


class TransitionListener(Protocol):
    """Is notified of every transition added to and deleted from the table."""

    def revise(self, added: TransitionBatch, deleted: TransitionBatch) -> None:
        """Handle a change that was already made in the table."""


NO_TRANSITIONS = TransitionBatch(
    np.zeros(0, np.uint64),
    np.zeros(0, np.uint8),
    np.zeros(0),
    np.zeros(0, np.uint64),
    np.zeros(0, np.bool_),
    np.zeros(0, np.int64),
)


class OneByOne:
    """Adapts a table that takes one transition at a time, or None, to a `BatchTable`."""

    def __init__(self, table: Table | None) -> None:
        self._table = table

    def add_many(self, *columns: NDArray[Any]) -> None:
        """Add transitions."""
        if self._table is not None:
            for step in _steps(columns):
                self._table.add(*step)

    def delete_many(self, *columns: NDArray[Any]) -> None:
        """Delete transitions: all of them, or the table's error and none."""
        if self._table is None:
            return
        done: list[tuple[int, int, float, int | None]] = []
        try:
            for step in _steps(columns):
                self._table.delete(*step)
                done.append(step)
        except Exception:
            for step in done:
                self._table.add(*step)
            raise


def batched(table: Table | None) -> BatchTable:
    """Return a table as a `BatchTable`."""
    return table if isinstance(table, BatchTable) else OneByOne(table)


def revise(table: BatchTable, added: TransitionBatch, deleted: TransitionBatch) -> None:
    """Revise a table completely, or raise the table's error and change nothing.

    Additions come first, as in Algorithm 2: if only the successor of a state and action changes,
    its count never reaches zero, and the table keeps a reward set by `set_reward`.
    """
    if len(added.states):
        table.add_many(*added.columns)
    try:
        if len(deleted.states):
            table.delete_many(*deleted.columns)
    except Exception:
        if len(added.states):
            table.delete_many(*added.columns)
        raise


def _steps(columns: tuple[NDArray[Any], ...]) -> list[tuple[int, int, float, int | None]]:
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return [(s, a, r, None if end else t) for s, a, r, t, end in rows]
