"""What the end of an episode brings, told from ends in states nearby as well.

An end is reached from hundreds of states, each of which sees it a few times. When rewards change,
each of them would have to see it again. But states whose codes are near each other end alike: so
the reward of an end is the mean over all ends by the same action, of which one counts the less, the
farther its state is, in bits, and the longer ago it was. Not in the paper.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vast.planning import hamming
from vast.replay import Transitions
from vast.replay.tables import NONE

Pair = tuple[int, int]
"""a state and an action"""


class Endings:
    """All ends of episodes by the number of their frame, which tells their age.

    Sums go over them in that order, so that they are the same whatever happened in between.
    """

    def __init__(self, horizon: float, width: float) -> None:
        self._horizon = horizon
        self._decay = hamming.decay(width)
        self._ends = NONE

    def revise(self, added: Transitions, deleted: Transitions) -> list[Pair]:
        """Take note of ends counted and uncounted; return the pairs whose rewards may change."""
        gone, come = _ends(deleted), _ends(added)
        if not len(gone.numbers) and not len(come.numbers):
            return []
        near = self._near(gone)
        where = np.searchsorted(self._ends.numbers, gone.numbers)
        left: list[Any] = [np.delete(column, where) for column in self._ends]
        where = np.searchsorted(left[-1], come.numbers)
        columns: Iterable[tuple[Any, Any]] = zip(left, come, strict=True)
        both: list[Any] = [np.insert(column, where, new) for column, new in columns]
        self._ends = Transitions(*both)
        near |= self._near(come)
        return sorted(near & set(_pairs(self._ends)))

    def _near(self, ends: Transitions) -> set[Pair]:
        """Return the pairs that are not too far from one of these."""
        found: set[Pair] = set()
        for pair in set(_pairs(ends)):
            rows, _ = self._within_reach(pair)
            found.update(_pairs(_some(self._ends, rows)))
        return found

    def _within_reach(self, pair: Pair) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        """Return the ends that count for a pair, and how far they are."""
        far = np.bitwise_count(self._ends.states ^ np.uint64(pair[0]))
        rows = np.flatnonzero((far < len(self._decay)) & (self._ends.actions == pair[1]))
        return rows, far[rows]

    def reward(self, pair: Pair) -> float:
        """Return what an end by this action in this state brings, of which there must be one."""
        rows, far = self._within_reach(pair)
        numbers = self._ends.numbers[rows]
        age = (numbers[-1] - numbers) / self._horizon
        weights = self._decay[far] * np.exp(-age)
        return float(weights @ self._ends.rewards[rows] / weights.sum())


def _ends(transitions: Transitions) -> Transitions:
    return _some(transitions, transitions.terminals)


def _some(transitions: Transitions, rows: NDArray[Any]) -> Transitions:
    columns: list[Any] = [column[rows] for column in transitions]
    return Transitions(*columns)


def _pairs(ends: Transitions) -> Iterable[Pair]:
    return zip(ends.states.tolist(), ends.actions.tolist(), strict=True)
