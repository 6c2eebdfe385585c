"""What the end of an episode brings, told from ends in states nearby as well.

An end is reached from hundreds of states, each of which sees it a few times. When rewards change,
each of them would have to see it again. But states whose codes are near each other end alike: what
an end brings is the mean over those nearby by the same action, recent ones above all.

And when one end after the other brings what nobody would have expected, then the world has changed:
what was known of all ends before is forgotten. For a while they are worth a look, also those that
used to be bad; later on, if it was not taken, they count as no reward. Not in the paper.
"""

import math
from collections.abc import Collection, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vast.planning import hamming, nearby
from vast.planning.memory import NIL
from vast.planning.nearby import Events
from vast.replay import Transitions

Pair = tuple[int, int]
"""a state and an action"""

LATEST = 8
"""how many ends are looked at to tell whether the world has changed"""
HOPE = 0.5
"""what a forgotten end counts at first, as a share of the best end ever: it is worth a look"""
PATIENCE = 100
"""after so many other ends have been seen it counts nothing any more"""


class Endings:
    """All ends of episodes by the number of their frame, which tells their age."""

    def __init__(self, horizon: float, width: float, change_point: float | None) -> None:
        self._manner = nearby.Manner(hamming.decay(width), horizon)
        self._change_point = change_point
        self._ends = NO_EVENTS
        self._changed_at: int | None = None  # the number of the first end since then
        self._hoped = 0.0  # what an end brings of which nothing is known since
        self._rewards: dict[Pair, float] = {}

    def reward(self, pair: Pair) -> float:
        """Return what an end by this action in this state brings, of which there must be one."""
        return self._rewards[pair]

    def revise(self, added: Transitions, deleted: Transitions) -> Collection[Pair]:
        """Take note of ends counted and uncounted; return the pairs whose rewards have changed."""
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
            nearby.mark(self._ends, ends.keys, ends.actions, self._manner, marks)
        first = self._last_change(marks)
        outlook = int(self._ends.times[first]) if first else None, self._hope(first)
        if outlook != (self._changed_at, self._hoped):
            self._changed_at, self._hoped = outlook
            marks[:] = True
        known = self._reckon(marks, first)
        changed = {pair: r for pair, r in known.items() if self._rewards.get(pair) != r}
        self._rewards |= changed
        return changed.keys()

    def _last_change(self, marks: NDArray[np.bool_]) -> int:
        """Return the first end of the world as it is."""
        if self._change_point is None:
            return 0
        surprises = np.zeros((2, math.ceil(self._change_point * LATEST)), np.int64)
        least = float(np.ptp(self._ends.values)) / 2 or math.inf
        rule = nearby.Surprises(least, LATEST, *surprises)
        return int(nearby.last_change(self._ends, marks, self._manner, rule))

    def _hope(self, first: int) -> float:
        """Return what an end counts that was forgotten."""
        seen_since = len(self._ends.times) - first if first else PATIENCE
        left = max(1 - seen_since / PATIENCE, 0.0)
        return HOPE * left * float(self._ends.values.max(initial=0.0))

    def _reckon(self, marks: NDArray[np.bool_], first: int) -> dict[Pair, float]:
        """Return what marked ends bring, from those since the world changed."""
        found = np.zeros(len(marks))
        nearby.means(self._ends, marks, first, self._manner, found)
        pairs = _pairs(_some(self._ends, marks))
        known = np.nan_to_num(found[marks], nan=self._hoped)
        return dict(zip(pairs, known.tolist(), strict=True))


NO_EVENTS = Events(
    keys=np.zeros(0, np.uint64),
    actions=np.zeros(0, np.uint8),
    times=np.zeros(0, np.int64),
    values=np.zeros(0),
    expected=np.zeros(0),
    since=np.zeros(0, np.int64),
)


def _ends(transitions: Transitions) -> Events:
    """Return the ends among transitions, before which nothing is expected yet."""
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
