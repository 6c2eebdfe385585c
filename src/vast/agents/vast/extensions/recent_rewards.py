"""E[r|s,a] by recent rewards: a reward counts the less, the longer ago it was received.

The plain mean of a hundred old outcomes needs a hundred new ones to change its sign. Here an
outcome of age t, in steps, has the weight exp(-t / horizon). Frame numbers give the ages, so that
transitions can move from state to state, and the estimate can be recomputed from the replay.

Transition counts stay as they are. So each successor, and the end of an episode, has a mean of its
own, and E[r|s,a] weighs these by the counts. A mean over all recent outcomes would be wrong: a step
that just happened to end an episode with a reward would count that reward and, by the counts, most
of the value of going on. Episode ends in nearby states can contribute; see `terminal_rewards`.
"""

import math
from bisect import bisect_left, insort
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self

import numpy as np

from vast.agents.extension import Extension
from vast.agents.vast.config import ExtensionsConfig
from vast.agents.vast.extensions import Context
from vast.agents.vast.extensions.terminal_rewards import Pair, TerminalRewards
from vast.planning import TransitionTable
from vast.replay import TransitionBatch
from vast.replay.tables import NO_TRANSITIONS
from vast.training.protocol import StateDict

Successor = tuple[int, bool]
"""the next state, and whether there is none"""
TimedReward = tuple[int, float]
"""the number of the frame, and the reward that followed it"""

NEGLIGIBLE = 30.0
"""horizons after which an outcome has no weight beside a newer one"""


@dataclass(slots=True)
class TimedRewards:
    """The rewards of a state-action pair on the way to one successor."""

    oldest_first: list[TimedReward] = field(default_factory=list)
    recent: float | None = None
    """their mean by age, if it was computed since the last change"""


@dataclass(slots=True)
class PairRewards:
    """The rewards of a state-action pair."""

    always: float | None
    """the reward, if it was never another one: whatever their ages, that is the mean; None if it
    was, or if it depends on other ends"""
    by_successor: dict[Successor, TimedRewards] = field(default_factory=dict)


class RecentRewards(Extension):
    """Keeps the rewards of each state-action pair by age, and sets the table's mean rewards."""

    def __init__(
        self,
        table: TransitionTable,
        horizon: float,
        width: float = 0.0,
        change_point: float | None = None,
    ) -> None:
        self._table = table
        self._horizon = horizon
        self._new_ends = partial(TerminalRewards, horizon, width, change_point)
        self._ends = self._new_ends() if width else None
        self._outcomes: dict[Pair, PairRewards] = {}

    @classmethod
    def from_config(cls, config: ExtensionsConfig, context: Context) -> Self | None:
        """Return the extension, or None if it is off."""
        if config.reward_horizon is None:
            return None
        return cls(context.table, config.reward_horizon, config.reward_width, config.change_point)

    def revise(self, added: TransitionBatch, deleted: TransitionBatch) -> None:
        """See transitions added and deleted; set the mean rewards that they change."""
        touched: dict[Pair, None] = {}
        for pair, successor, outcome in _outcomes(added):
            if self._add(pair, successor, outcome).always is None:
                touched[pair] = None
        for pair, successor, outcome in _outcomes(deleted):
            rewards = self._outcomes[pair]
            known = rewards.by_successor[successor]
            del known.oldest_first[bisect_left(known.oldest_first, outcome)]
            known.recent = None
            if not known.oldest_first:
                del rewards.by_successor[successor]
                if not rewards.by_successor:
                    del self._outcomes[pair]
                    continue
            if rewards.always is None:
                touched[pair] = None
        if self._ends is not None:
            touched |= dict.fromkeys(self._ends.revise(added, deleted))
        for pair in touched:
            if pair in self._outcomes:
                self._apply(pair)

    def _add(self, pair: Pair, successor: Successor, outcome: TimedReward) -> PairRewards:
        rewards = self._outcomes.get(pair)
        if rewards is None:
            rewards = self._outcomes[pair] = PairRewards(outcome[1])
        if rewards.always != outcome[1] or (successor[1] and self._ends is not None):
            rewards.always = None
        known = rewards.by_successor.get(successor)
        if known is None:
            known = rewards.by_successor[successor] = TimedRewards()
        insort(known.oldest_first, outcome)
        known.recent = None
        return rewards

    def _apply(self, pair: Pair) -> None:
        recent = self._estimate(pair)
        mean = self._table.mean_reward(*pair)
        if abs(recent - mean) > 1e-12 * max(1.0, abs(mean)):
            self._table.set_reward(*pair, recent)

    def _estimate(self, pair: Pair) -> float:
        """Return E[r|s,a] from the outcomes of each successor."""
        total = rewards = 0.0
        for (_, ends), outcomes in self._outcomes[pair].by_successor.items():
            count = len(outcomes.oldest_first)
            total += count
            if ends and self._ends is not None:
                rewards += count * self._ends.reward(pair)
            else:
                if outcomes.recent is None:
                    outcomes.recent = self._recent(outcomes.oldest_first)
                rewards += count * outcomes.recent
        return rewards / total

    def _recent(self, outcomes: list[TimedReward]) -> float:
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

    def state_dict(self) -> StateDict:
        """Return all rewards with their frames."""
        flat = [
            (*pair, *successor, *outcome)
            for pair, rewards in self._outcomes.items()
            for successor, outcomes in rewards.by_successor.items()
            for outcome in outcomes.oldest_first
        ]
        columns = zip(*flat, strict=True) if flat else ((),) * len(COLUMNS)
        return {
            name: np.array(column, dtype)
            for (name, dtype), column in zip(COLUMNS.items(), columns, strict=True)
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore saved rewards."""
        self._outcomes = {}
        columns = (state[name].tolist() for name in COLUMNS)
        for key, action, following, ends, number, reward in zip(*columns, strict=True):
            self._add((key, action), (following, ends), (number, reward))
        if self._ends is not None:
            self._ends = self._new_ends()
            order = np.argsort(state["numbers"])
            by_age = TransitionBatch(**{name: state[name][order] for name in COLUMNS})
            self._ends.revise(by_age, NO_TRANSITIONS)


COLUMNS: dict[str, type[np.generic]] = {
    "states": np.uint64,
    "actions": np.int64,
    "next_states": np.uint64,
    "terminals": np.bool_,
    "numbers": np.int64,
    "rewards": np.float64,
}
"""how rewards are saved"""


def _outcomes(transitions: TransitionBatch) -> Iterator[tuple[Pair, Successor, TimedReward]]:
    pairs = zip(transitions.states.tolist(), transitions.actions.tolist(), strict=True)
    successors = zip(transitions.next_states.tolist(), transitions.terminals.tolist(), strict=True)
    outcomes = zip(transitions.numbers.tolist(), transitions.rewards.tolist(), strict=True)
    return zip(pairs, successors, outcomes, strict=True)
