"""Rank-based prioritized sampling (Schaul et al. 2016, section 3.3), with exact ranks.

The step with the i-th largest error is drawn with probability i^-alpha / sum_j j^-alpha. The order
is updated once before each minibatch, for all steps added, changed or evicted since, so that ranks
are never out of date. (Schaul et al. use a heap that is sorted only now and then.)
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vast.agents.rank_order import Floats, Numbers, RankOrder


class Drawn(NamedTuple):
    """A minibatch of steps by the numbers of their frames."""

    numbers: Numbers
    probabilities: NDArray[np.float64]
    """of each to be drawn"""
    weights: NDArray[np.float64]
    """importance weights (N P)^-beta, divided by the largest of any step"""


class RankSampler:
    """Steps in the order of their priorities, the largest first.

    Of equal priorities, the one added or changed last comes first, then the newest.
    """

    def __init__(self, capacity: int, alpha: float) -> None:
        self.capacity, self.alpha = capacity, alpha
        self._order = RankOrder(capacity)
        self._oldest = 0
        self._new: list[int] = []
        self._changed: list[tuple[Numbers, Floats]] = []
        # Whatever the number of steps N is, the sum over ranks up to N is the N-th of these.
        self._sums = np.cumsum(np.arange(1, capacity + 1, dtype=np.float64) ** -alpha)

    def __len__(self) -> int:
        return len(self._order)

    def add(self, number: int) -> None:
        """Add a new step, numbered above all others, with the maximal priority."""
        self._new.append(number)

    def set_priorities(self, numbers: ArrayLike, priorities: ArrayLike) -> None:
        """Set the priorities of steps; the last one counts for a step named twice."""
        self._changed.append((np.array(numbers, np.int64), np.array(priorities, np.float64)))

    def revise(self, oldest: int) -> None:
        """Update the order, and drop steps with numbers below `oldest`."""
        if oldest > self._oldest:
            self._order.remove(np.arange(self._oldest, oldest))
            self._oldest = oldest
        changed: dict[int, float] = {}
        for numbers, priorities in self._changed:
            changed.update(zip(numbers.tolist(), priorities.tolist(), strict=True))
        self._changed = []
        # What is put last comes first: of equal priorities, the newer steps.
        moved = sorted(number for number in changed if number >= oldest)
        self._order.put(np.array(moved, np.int64), np.array([changed[n] for n in moved]))
        new = np.array([number for number in self._new if number >= oldest], np.int64)
        self._new = []
        self._order.put(new, np.full(len(new), self._order.largest))

    def draw(self, rng: np.random.Generator, size: int, beta: float) -> Drawn:
        """Draw a minibatch: one step from each of `size` equally probable runs of ranks."""
        n = len(self)
        if n == 0:
            raise ValueError("there is no step to draw")
        total = self._sums[n - 1]
        points = (np.arange(size) + rng.random(size)) * (total / size)
        at = np.minimum(np.searchsorted(self._sums[:n], points, side="right"), n - 1)
        probabilities = (at + 1.0) ** -self.alpha / total
        # The least probable step has the largest weight: (N P)^-beta relative to that of rank N.
        weights = (n / (at + 1.0)) ** (-self.alpha * beta)
        return Drawn(self._order.at(at), probabilities, weights)

    def state_dict(self) -> dict[str, Any]:
        """Return the order and the pending changes."""
        changed = self._changed or [(np.zeros(0, np.int64), np.zeros(0))]
        order, priority = self._order.in_order()
        return {
            "order": order,
            "priority": priority,
            "new": np.array(self._new, np.int64),
            "changed": np.concatenate([numbers for numbers, _ in changed]),
            "changed_to": np.concatenate([priorities for _, priorities in changed]),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a saved order."""
        order, priority = np.array(state["order"], np.int64), np.array(state["priority"])
        if order.shape != priority.shape or (np.diff(priority) > 0).any():
            raise ValueError("saved priorities: they do not fit the order, or are in none")
        self._order.fill(order, priority)
        self._oldest = int(order.min()) if len(order) else 0
        self._new = np.asarray(state["new"], np.int64).tolist()
        self._changed = []
        if len(state["changed"]):
            self.set_priorities(state["changed"], state["changed_to"])
