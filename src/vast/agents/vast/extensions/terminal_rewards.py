"""The rewards of episode ends, estimated from ends in nearby states as well.

A goal is reached from hundreds of states, each of which sees it a few times. When rewards change,
each of them would have to see it again. But states with similar codes end alike: the reward of an
end is the mean over nearby ends by the same action, with more weight for recent ones.

If one end after the other contradicts what nearby ends predicted, the world has changed: all
earlier ends are forgotten. For a while the forgotten ends keep an optimistic value, those that used
to be bad as well, so that the agent looks again; later they count as no reward.
"""

import math
from collections.abc import Collection, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vast.planning import hamming, nearby
from vast.planning.memory import NIL
from vast.planning.nearby import Events
from vast.replay import TransitionBatch

Pair = tuple[int, int]
"""a state and an action"""

LATEST = 8
"""ends among which contradictions are counted"""
OPTIMISM = 0.5
"""value of a forgotten end at first, as a share of the best end ever"""
PATIENCE = 100
"""ends after which the optimism is gone"""


class TerminalRewards:
    """All episode ends by the number of their frame, which gives their age."""

    def __init__(self, horizon: float, width: float, change_point: float | None) -> None:
        self._proximity = nearby.Proximity(hamming.decay(width), horizon)
        self._change_point = change_point
        self._ends = NO_EVENTS
        self._changed_at: int | None = None  # the first end since the world changed
        self._unknown = 0.0  # the value of an end that was not seen since
        self._rewards: dict[Pair, float] = {}

    def reward(self, pair: Pair) -> float:
        """Return the reward of an end by this action in this state; there must be one."""
        return self._rewards[pair]

    def revise(self, added: TransitionBatch, deleted: TransitionBatch) -> Collection[Pair]:
        """See transitions added and deleted; return the pairs whose terminal rewards changed."""
        if not (added.terminals.any() or deleted.terminals.any()):
            return ()
        gone, come = _ends(deleted), _ends(added)
        for pair in _pairs(gone):
            self._rewards.pop(pair, None)
        self._ends = _inserted(_removed(self._ends, gone), come)
        if not len(self._ends.times):
            return ()
        marks = np.zeros(len(self._ends.times), np.bool_)
        for ends in (gone, come):
            nearby.mark(self._ends, ends.keys, ends.actions, self._proximity, marks)
        first = self._last_change(marks)
        outlook = int(self._ends.times[first]) if first else None, self._optimism(first)
        if outlook != (self._changed_at, self._unknown):
            self._changed_at, self._unknown = outlook
            marks[:] = True
        known = self._means(marks, first)
        changed = {pair: r for pair, r in known.items() if self._rewards.get(pair) != r}
        self._rewards |= changed
        return changed.keys()

    def _last_change(self, marks: NDArray[np.bool_]) -> int:
        """Return the first end since the world changed."""
        if self._change_point is None:
            return 0
        surprises = np.zeros((2, math.ceil(self._change_point * LATEST)), np.int64)
        least = float(np.ptp(self._ends.values)) / 2 or math.inf
        rule = nearby.Surprises(least, LATEST, *surprises)
        return int(nearby.last_change(self._ends, marks, self._proximity, rule))

    def _optimism(self, first: int) -> float:
        """Return the value of a forgotten end."""
        seen_since = len(self._ends.times) - first if first else PATIENCE
        left = max(1 - seen_since / PATIENCE, 0.0)
        return OPTIMISM * left * float(self._ends.values.max(initial=0.0))

    def _means(self, marks: NDArray[np.bool_], first: int) -> dict[Pair, float]:
        """Return the rewards of marked ends, by those since the world changed."""
        found = np.zeros(len(marks))
        nearby.means(self._ends, marks, first, self._proximity, found)
        pairs = _pairs(_some(self._ends, marks))
        known = np.nan_to_num(found[marks], nan=self._unknown)
        return dict(zip(pairs, known.tolist(), strict=True))


NO_EVENTS = Events(
    keys=np.zeros(0, np.uint64),
    actions=np.zeros(0, np.uint8),
    times=np.zeros(0, np.int64),
    values=np.zeros(0),
    expected=np.zeros(0),
    since=np.zeros(0, np.int64),
)


def _ends(transitions: TransitionBatch) -> Events:
    """Return the ends among transitions; nothing is predicted of them yet."""
    t = transitions
    nothing = np.full(len(t.numbers), np.nan), np.full(len(t.numbers), NIL)
    return _some(Events(t.states, t.actions, t.numbers, t.rewards, *nothing), t.terminals)


def _some(events: Events, rows: NDArray[np.bool_]) -> Events:
    columns: list[Any] = [column[rows] for column in events]
    return Events(*columns)


def _removed(events: Events, gone: Events) -> Events:
    where = np.searchsorted(events.times, gone.times)
    columns: list[Any] = [np.delete(column, where) for column in events]
    return Events(*columns)


def _inserted(events: Events, come: Events) -> Events:
    where = np.searchsorted(events.times, come.times)
    both: Iterable[tuple[Any, Any]] = zip(events, come, strict=True)
    columns: list[Any] = [np.insert(column, where, new) for column, new in both]
    return Events(*columns)


def _pairs(ends: Events) -> Iterable[Pair]:
    return zip(ends.keys.tolist(), ends.actions.tolist(), strict=True)
