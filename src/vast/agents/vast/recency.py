"""E[r|s,a] with recency: a reward counts the less, the longer ago it was received.

The plain mean of a hundred old outcomes needs a hundred new ones to change its sign. Here an
outcome of age t, in steps, counts exp(-t / horizon). Ages are told by the numbers of frames, so
that transitions can be moved from state to state, and the estimate can be recomputed from the
replay. Not in the paper.

Transition counts stay as they are. So each successor, and the end of an episode, has a mean of its
own, and E[r|s,a] weighs these by the counts: were it the mean over all recent outcomes, a last step
that happened to end an episode with a reward would be worth that reward and, by the counts, most
of the value of going on. The ends of episodes in states nearby can have a say; see `endings`.
"""

import math
from bisect import bisect_left, insort
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from vast.agents.vast.endings import Endings, Pair
from vast.planning import TransitionTable
from vast.replay import Transitions
from vast.replay.tables import NONE
from vast.training.protocol import State

Successor = tuple[int, bool]
"""the next state, and whether there is none"""
Outcome = tuple[int, float]
"""the number of the frame at which, and the reward"""

NEGLIGIBLE = 30.0
"""horizons after which an outcome counts nothing beside a newer one"""


@dataclass(slots=True)
class Outcomes:
    """What a state and an action brought on the way to one successor."""

    oldest_first: list[Outcome] = field(default_factory=list)
    recent: float | None = None
    """their mean by age, if it was asked for since the last change"""


class RecentRewards:
    """The outcomes of each state and action by age, and a table that obeys them."""

    def __init__(
        self,
        table: TransitionTable,
        horizon: float,
        width: float = 0.0,
        change_point: float | None = None,
    ) -> None:
        self._table = table
        self._horizon = horizon
        self._new_endings = partial(Endings, horizon, width, change_point)
        self._endings = self._new_endings() if width else None
        self._outcomes: dict[Pair, dict[Successor, Outcomes]] = {}

    def revise(self, added: Transitions, deleted: Transitions) -> None:
        """Take note of transitions counted and uncounted; set the rewards that they change."""
        touched: dict[Pair, None] = {}
        for pair, successor, outcome in _outcomes(added):
            known = self._outcomes.setdefault(pair, {}).setdefault(successor, Outcomes())
            insort(known.oldest_first, outcome)
            known.recent = None
            touched[pair] = None
        for pair, successor, outcome in _outcomes(deleted):
            known = self._outcomes[pair][successor]
            del known.oldest_first[bisect_left(known.oldest_first, outcome)]
            known.recent = None
            if not known.oldest_first:
                del self._outcomes[pair][successor]
            touched[pair] = None
        if self._endings is not None:
            touched |= dict.fromkeys(self._endings.revise(added, deleted))
        for pair in touched:
            self._apply(pair)

    def _apply(self, pair: Pair) -> None:
        known = self._outcomes[pair]
        if not known:
            del self._outcomes[pair]
            return
        recent = self._estimate(pair, known)
        mean = self._table.mean_reward(*pair)
        if abs(recent - mean) > 1e-12 * max(1.0, abs(mean)):
            self._table.set_reward(*pair, recent)

    def _estimate(self, pair: Pair, known: Mapping[Successor, Outcomes]) -> float:
        """Return E[r|s,a] from the outcomes of each successor."""
        total = rewards = 0.0
        for (_, ends), outcomes in known.items():
            count = len(outcomes.oldest_first)
            total += count
            if ends and self._endings is not None:
                rewards += count * self._endings.reward(pair)
            else:
                if outcomes.recent is None:
                    outcomes.recent = self._recent(outcomes.oldest_first)
                rewards += count * outcomes.recent
        return rewards / total

    def _recent(self, outcomes: list[Outcome]) -> float:
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
        flat = [
            (*pair, *successor, *outcome)
            for pair, known in self._outcomes.items()
            for successor, outcomes in known.items()
            for outcome in outcomes.oldest_first
        ]
        columns = zip(*flat, strict=True) if flat else ((),) * len(COLUMNS)
        return {
            name: np.array(column, dtype)
            for (name, dtype), column in zip(COLUMNS.items(), columns, strict=True)
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from there."""
        self._outcomes = {}
        columns = (state[name].tolist() for name in COLUMNS)
        for key, action, following, ends, number, reward in zip(*columns, strict=True):
            by_successor = self._outcomes.setdefault((key, action), {})
            known = by_successor.setdefault((following, ends), Outcomes())
            known.oldest_first.append((number, reward))
        if self._endings is not None:
            self._endings = self._new_endings()
            order = np.argsort(state["numbers"])
            by_age = Transitions(**{name: state[name][order] for name in COLUMNS})
            self._endings.revise(by_age, NONE)


COLUMNS: dict[str, type[np.generic]] = {
    "states": np.uint64,
    "actions": np.int64,
    "next_states": np.uint64,
    "terminals": np.bool_,
    "numbers": np.int64,
    "rewards": np.float64,
}
"""how outcomes are saved"""


def _outcomes(transitions: Transitions) -> Iterator[tuple[Pair, Successor, Outcome]]:
    pairs = zip(transitions.states.tolist(), transitions.actions.tolist(), strict=True)
    successors = zip(transitions.next_states.tolist(), transitions.terminals.tolist(), strict=True)
    outcomes = zip(transitions.numbers.tolist(), transitions.rewards.tolist(), strict=True)
    return zip(pairs, successors, outcomes, strict=True)
