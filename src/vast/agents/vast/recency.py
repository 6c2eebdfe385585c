"""E[r|s,a] with recency: a reward counts the less, the longer ago it was received.

The plain mean of a hundred old outcomes needs a hundred new ones to change its sign. Here an
outcome of age t, in steps, counts exp(-t / horizon). Ages are told by the numbers of frames, so
that transitions can be moved from state to state, and the estimate can be recomputed from the
replay. Transition counts stay as they are. Not in the paper.
"""

import math
from bisect import bisect_left, insort
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from vast.planning import TransitionTable
from vast.replay import Transitions
from vast.training.protocol import State

Pair = tuple[int, int]
Outcome = tuple[int, float]
"""the number of the frame at which, and the reward"""

NEGLIGIBLE = 30.0
"""horizons after which an outcome counts nothing beside a newer one"""


class RecentRewards:
    """The outcomes of each state and action by age, and a table that obeys them."""

    def __init__(self, table: TransitionTable, horizon: float) -> None:
        self._table = table
        self._horizon = horizon
        self._outcomes: dict[Pair, list[Outcome]] = {}

    def revise(self, added: Transitions, deleted: Transitions) -> None:
        """Take note of transitions counted and uncounted; set the rewards that they change."""
        touched: dict[Pair, None] = {}
        for pair, outcome in _outcomes(added):
            insort(self._outcomes.setdefault(pair, []), outcome)
            touched[pair] = None
        for pair, outcome in _outcomes(deleted):
            known = self._outcomes[pair]
            del known[bisect_left(known, outcome)]
            touched[pair] = None
        for pair in touched:
            self._apply(pair)

    def _apply(self, pair: Pair) -> None:
        known = self._outcomes[pair]
        if not known:
            del self._outcomes[pair]
            return
        recent, mean = self.estimate(known), self._table.mean_reward(*pair)
        if abs(recent - mean) > 1e-12 * max(1.0, abs(mean)):
            self._table.set_reward(*pair, recent)

    def estimate(self, outcomes: list[Outcome]) -> float:
        """Return the mean reward of outcomes, oldest first, by their weights."""
        newest = outcomes[-1][0]
        weights = rewards = 0.0
        for number, reward in reversed(outcomes):
            age = (newest - number) / self._horizon
            if age > NEGLIGIBLE:
                break
            weight = math.exp(-age)
            weights += weight
            rewards += weight * reward
        return rewards / weights

    def state_dict(self) -> State:
        """Return all outcomes."""
        flat = [(*pair, *outcome) for pair, known in self._outcomes.items() for outcome in known]
        states, actions, numbers, rewards = zip(*flat, strict=True) if flat else ((),) * 4
        return {
            "states": np.array(states, np.uint64),
            "actions": np.array(actions, np.int64),
            "numbers": np.array(numbers, np.int64),
            "rewards": np.array(rewards, np.float64),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from there."""
        self._outcomes = {}
        columns = (state[name].tolist() for name in ("states", "actions", "numbers", "rewards"))
        for key, action, number, reward in zip(*columns, strict=True):
            self._outcomes.setdefault((key, action), []).append((number, reward))


def _outcomes(transitions: Transitions) -> Iterator[tuple[Pair, Outcome]]:
    pairs = zip(transitions.states.tolist(), transitions.actions.tolist(), strict=True)
    outcomes = zip(transitions.numbers.tolist(), transitions.rewards.tolist(), strict=True)
    return zip(pairs, outcomes, strict=True)
