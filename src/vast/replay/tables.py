"""What the replay asks of a transition table."""

from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from vast.replay.ring import Numbers

States = NDArray[np.uint64]
Actions = NDArray[np.uint8]
Rewards = NDArray[np.float64]
Flags = NDArray[np.bool_]


class Table(Protocol):
    """Where transitions are counted, one by one; `next_state=None` is a terminal one."""

    def add(self, state: int, action: int, reward: float, next_state: int | None, /) -> None:
        """Count a transition."""

    def delete(self, state: int, action: int, reward: float, next_state: int | None, /) -> None:
        """Uncount a transition."""


@runtime_checkable
class BatchTable(Protocol):
    """A table that takes columns, all or nothing: `vast.planning.TransitionTable`."""

    def add_many(self, s: States, a: Actions, r: Rewards, t: States, ends: Flags, /) -> None:
        """Count transitions."""

    def delete_many(self, s: States, a: Actions, r: Rewards, t: States, ends: Flags, /) -> None:
        """Uncount transitions."""


class Transitions(NamedTuple):
    """Transitions in columns, in the order of a table's arguments."""

    states: States
    actions: Actions
    rewards: Rewards
    next_states: States
    """0 where the transition is terminal"""
    terminals: Flags
    numbers: Numbers
    """of the frames that they leave from: when they happened"""

    @property
    def columns(self) -> tuple[States, Actions, Rewards, States, Flags]:
        """What a table takes."""
        return self.states, self.actions, self.rewards, self.next_states, self.terminals


class Ledger(Protocol):
    """Something beside the table that must know of every transition counted and uncounted."""

    def revise(self, added: Transitions, deleted: Transitions) -> None:
        """Take note of a change that the table has already made."""


NONE = Transitions(
    np.zeros(0, np.uint64),
    np.zeros(0, np.uint8),
    np.zeros(0),
    np.zeros(0, np.uint64),
    np.zeros(0, np.bool_),
    np.zeros(0, np.int64),
)


class OneByOne:
    """Columns for a table that takes one transition at a time, or for no table at all."""

    def __init__(self, table: Table | None) -> None:
        self._table = table

    def add_many(self, *columns: NDArray[Any]) -> None:
        """Count transitions."""
        if self._table is not None:
            for step in _steps(columns):
                self._table.add(*step)

    def delete_many(self, *columns: NDArray[Any]) -> None:
        """Uncount transitions: all of them, or the table's error and none."""
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
    """Return a table as one that takes columns."""
    return table if isinstance(table, BatchTable) else OneByOne(table)


def revise(table: BatchTable, added: Transitions, deleted: Transitions) -> None:
    """Bring a table up to date: all of it, or none of it and the table's error.

    Additions come first, as in Algorithm 2: a state and action that only changes its successor is
    at no moment without counts, and keeps what `set_reward` has set.
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
