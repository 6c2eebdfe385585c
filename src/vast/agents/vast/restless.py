"""Not doing the same thing again and again: a remedy for greedy loops.

A state stands for many situations that look alike. What an action brings on average may be fine
while in this very situation it leads back here; a greedy policy on a table that does not change
then goes round for ever. So an action that was taken already, in this episode, at this very
observation, is held for worth less: each time by a share of what it costs to be back here one step
later without a reward, (1 - gamma) |V(s)| and the action's own penalty, if it has one.

Usually it is the observation that counts, not its state: in a long corridor the same action from
the same state again and again may well be the way. Where an agent can wander among hundreds of
observations of a few states, as along a wall that looks the same all over, it is the state. Not in
the paper.
"""

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vast.agents.vast.config import Sameness
from vast.planning import TransitionTable
from vast.training.protocol import Observation, State


class Restless:
    """How often each action was taken at each observation, or state, in this episode."""

    def __init__(
        self,
        table: TransitionTable,
        n_actions: int,
        discount: float,
        share: float,
        by: Sameness = "observation",
    ) -> None:
        self._table = table
        self._n_actions = n_actions
        self._discount = discount
        self._share = share
        self._by = by
        self._taken: dict[int, NDArray[np.int64]] = {}

    def begin(self) -> None:
        """Forget it all: a new episode begins."""
        self._taken = {}

    def worth(self, seen: Observation, state: int, q: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the values by which to choose, given those of the state of what is seen."""
        taken = self._taken.get(self._place(seen, state)) if self._share else None
        if taken is None:
            return q
        penalties = np.array([self._penalty(state, action) for action in range(self._n_actions)])
        lost = (1 - self._discount) * abs(q.max()) + penalties
        worth: NDArray[np.float64] = q - self._share * taken * lost
        return worth

    def take(self, seen: Observation, state: int, action: int) -> None:
        """Note what was chosen."""
        if self._share:
            empty = np.zeros(self._n_actions, np.int64)
            self._taken.setdefault(self._place(seen, state), empty)[action] += 1

    def _place(self, seen: Observation, state: int) -> int:
        return state if self._by == "state" else _digest(seen)

    def _penalty(self, state: int, action: int) -> float:
        known = self._table.count(state, action) > 0
        return max(-self._table.mean_reward(state, action), 0.0) if known else 0.0

    def state_dict(self) -> State:
        """Return what was taken in this episode."""
        counts = np.array(list(self._taken.values()), np.int64).reshape(-1, self._n_actions)
        return {"seen": np.array(list(self._taken), np.uint64), "counts": counts}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from there."""
        seen, counts = state["seen"].tolist(), np.array(state["counts"], np.int64)
        self._taken = dict(zip(seen, counts, strict=True))


def _digest(seen: Observation) -> int:
    """Return 64 bits that stand for an observation, the same in every process."""
    return int.from_bytes(hashlib.blake2b(seen.tobytes(), digest_size=8).digest(), "little")
