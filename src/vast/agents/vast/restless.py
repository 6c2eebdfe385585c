"""Not doing the same thing again and again: a remedy for greedy loops.

A state stands for many situations that look alike. What an action brings on average may be fine
while in this very situation it leads back here; a greedy policy on a table that does not change
then goes round for ever. So an action that was taken from this state already, in this episode, is
held for worth less: each time by a share of what it costs to be back here one step later without
a reward, (1 - gamma) |V(s)| and the action's own penalty, if it has one. Not in the paper.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vast.planning import TransitionTable
from vast.training.protocol import State


class Restless:
    """How often each action was taken from each state in this episode."""

    def __init__(
        self, table: TransitionTable, n_actions: int, discount: float, share: float
    ) -> None:
        self._table = table
        self._n_actions = n_actions
        self._discount = discount
        self._share = share
        self._taken: dict[int, NDArray[np.int64]] = {}

    def begin(self) -> None:
        """Forget it all: a new episode begins."""
        self._taken = {}

    def worth(self, state: int, q: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the values by which to choose."""
        taken = self._taken.get(state)
        if taken is None:
            return q
        penalties = np.array([self._penalty(state, action) for action in range(self._n_actions)])
        lost = (1 - self._discount) * abs(q.max()) + penalties
        worth: NDArray[np.float64] = q - self._share * taken * lost
        return worth

    def take(self, state: int, action: int) -> None:
        """Note what was chosen."""
        if self._share:
            self._taken.setdefault(state, np.zeros(self._n_actions, np.int64))[action] += 1

    def _penalty(self, state: int, action: int) -> float:
        known = self._table.count(state, action) > 0
        return max(-self._table.mean_reward(state, action), 0.0) if known else 0.0

    def state_dict(self) -> State:
        """Return what was taken in this episode."""
        counts = np.array(list(self._taken.values()), np.int64).reshape(-1, self._n_actions)
        return {"states": np.array(list(self._taken), np.uint64), "counts": counts}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from there."""
        states, counts = state["states"].tolist(), np.array(state["counts"], np.int64)
        self._taken = dict(zip(states, counts, strict=True))
