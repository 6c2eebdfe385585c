"""A logged sweep as a film: values and queue at any backup, forward and backward."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vast.planning.arguments import as_integer
from vast.planning.compiled import Int, kernel
from vast.planning.logged_sweep import Backups, Pops
from vast.planning.memory import LENGTH


@kernel
def assign_in_order(
    target: NDArray[Any], where: NDArray[np.int64], values: NDArray[Any], begin: Int, end: Int
) -> None:
    """Assign values one after the other, from `begin` to `end`, or back if `end` is smaller.

    NumPy does not promise which value wins where an index is repeated.
    """
    for i in range(begin, end):
        target[where[i]] = values[i]
    for i in range(begin - 1, end - 1, -1):
        target[where[i]] = values[i]


class Playback:
    """The values and the queue of a table after each number of backups of its logged sweep.

    It begins before the first backup. `seek` moves it; that takes time in proportion to the backups
    in between, not to the size of the table. A state is popped together with the next backup; those
    popped after the last backup, because nothing leads to them, stay in the queue.
    """

    def __init__(self, pops: Pops, backups: Backups, after: Mapping[str, Any]) -> None:
        taken = (after["n"] > 0).any(axis=1)
        # A state that lost all its transitions may still have to be popped, to tell so.
        lost = np.isin(after["key"], pops.states) & ~taken & (after["block"][:, LENGTH] > 0)
        rows = np.concatenate([np.flatnonzero(taken), np.flatnonzero(lost)])
        self.n_states = int(np.count_nonzero(taken))
        self.states: NDArray[np.uint64] = after["key"][rows]
        """[S] first those of `TransitionTable.states`, in the same order; then popped states
        without transitions"""
        self.q: NDArray[np.float64] = after["q"][rows]
        """[S, A] Q(s, a), nan for actions never taken in the state"""
        self.q[self.q == -np.inf] = np.nan
        self.v: NDArray[np.float64] = np.nan_to_num(np.fmax.reduce(self.q, axis=1), nan=0.0)
        """[S] V(s)"""
        queued = after["tag"][rows] != 0
        self.priorities: NDArray[np.float64] = np.where(queued, after["priority"][rows], 0.0)
        """[S] |U(s) - V(s)| of the states in the queue, 0 for all others"""
        self.position = len(backups.pops)
        """how many backups have been done"""
        self._backups = backups
        self._rows = self.find(backups.states)
        self._pairs = self._rows * self.q.shape[1] + backups.actions
        # Pops and backups in one order, as changes of priorities.
        n, n_pops = len(backups.pops), len(pops.states)
        of_backups = backups.pops + 1 + np.arange(n)
        of_pops = np.searchsorted(backups.pops, np.arange(n_pops)) + np.arange(n_pops)
        self._events = np.empty(n + n_pops, np.int64)
        self._events[of_backups] = self._rows
        self._events[of_pops] = self.find(pops.states)
        self._changes = np.zeros((2, n + n_pops))
        self._changes[:, of_backups] = backups.priority_before, backups.priority_after
        self._changes[0, of_pops] = pops.priorities
        assign_in_order(self.priorities, self._events, self._changes[0], n + n_pops, 0)
        self.seek(0)

    def __len__(self) -> int:
        return len(self._rows)

    def find(self, states: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the rows of these states, which must be among `states`."""
        order = np.argsort(self.states)
        rows: NDArray[np.int64] = order[np.searchsorted(self.states, states, sorter=order)]
        return rows

    def seek(self, position: int) -> None:
        """Move to the moment after this many backups, 0 to `len(self)`."""
        to = as_integer("position", position)
        if not 0 <= to <= len(self):
            raise ValueError(f"position must be between 0 and {len(self)}, got {to}")
        old, new = self.position, to
        b, pairs = self._backups, self._pairs
        q, v = (b.q_before, b.v_before) if new < old else (b.q_after, b.v_after)
        assign_in_order(self.q.reshape(-1), pairs, q, old, new)
        assign_in_order(self.v, self._rows, v, old, new)
        changes = self._changes[0 if new < old else 1]
        span = self._events_at(old), self._events_at(new)
        assign_in_order(self.priorities, self._events, changes, *span)
        self.position = to

    def _events_at(self, position: int) -> int:
        """Return how many pops and backups have happened; a pop belongs to the next backup."""
        return position + int(self._backups.pops[position - 1]) + 1 if position else 0
