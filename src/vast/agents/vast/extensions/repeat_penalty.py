"""A penalty for repeated actions: a remedy for greedy loops.

A state stands for many similar situations. An action may be good on average, and in this very
situation lead back to it; a greedy policy on a table that does not change then loops for ever. So
an action that was already taken at this observation in this episode loses value each time, by a
share of what it costs to be back one step later without a reward: (1 - gamma) |V(s)|, plus the
action's own penalty if it has one.

Usually the observation counts, not its state: in a long corridor, the same action from the same
state again and again may be right. Where an agent can wander among hundreds of observations of a
few states, as along a uniform wall, the state counts.
"""

import hashlib
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from vast.agents.extension import Extension, Values
from vast.agents.vast.config import ExtensionsConfig, Sameness
from vast.agents.vast.extensions import Context
from vast.planning import TransitionTable
from vast.training.protocol import Observation, StateDict


class RepeatPenalty(Extension):
    """Counts how often each action was chosen at each observation, or state, in this episode."""

    def __init__(self, table: TransitionTable, share: float, by: Sameness = "observation") -> None:
        self._table = table
        self._n_actions = table.n_actions
        self._share = share
        self._by = by
        self._counts: dict[int, NDArray[np.int64]] = {}

    @classmethod
    def from_config(cls, config: ExtensionsConfig, context: Context) -> Self | None:
        """Return the extension, or None if it is off."""
        if not config.repeat_penalty:
            return None
        return cls(context.table, config.repeat_penalty, config.repeat_by)

    def for_policy(self) -> Self:
        """Return an extension with the same hyperparameters and no counts."""
        return type(self)(self._table, self._share, self._by)

    def begin_episode(self) -> None:
        """Forget all counts."""
        self._counts = {}

    def adjust(self, q: Values, state: int, observation: Observation) -> Values:
        """Lower the values of actions that were chosen here before."""
        counts = self._counts.get(self._key(state, observation))
        if counts is None:
            return q
        penalties = np.array([self._penalty(state, action) for action in range(self._n_actions)])
        lost = (1 - self._table.discount) * abs(q.max()) + penalties
        lowered: Values = q - self._share * counts * lost
        return lowered

    def record(self, state: int, observation: Observation, action: int) -> None:
        """Count the action that was chosen."""
        empty = np.zeros(self._n_actions, np.int64)
        self._counts.setdefault(self._key(state, observation), empty)[action] += 1

    def _key(self, state: int, observation: Observation) -> int:
        return state if self._by == "state" else _digest(observation)

    def _penalty(self, state: int, action: int) -> float:
        known = self._table.count(state, action) > 0
        return max(-self._table.mean_reward(state, action), 0.0) if known else 0.0

    def state_dict(self) -> StateDict:
        """Return the counts of this episode."""
        counts = np.array(list(self._counts.values()), np.int64).reshape(-1, self._n_actions)
        return {"keys": np.array(list(self._counts), np.uint64), "counts": counts}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore saved counts."""
        keys, counts = state["keys"].tolist(), np.array(state["counts"], np.int64)
        self._counts = dict(zip(keys, counts, strict=True))


def _digest(observation: Observation) -> int:
    """Return a 64-bit hash of an observation, the same in every process."""
    return int.from_bytes(hashlib.blake2b(observation.tobytes(), digest_size=8).digest(), "little")
