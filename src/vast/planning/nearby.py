"""Means over events in nearby states, weighted by Hamming distance and age; not in the paper.

Events are given in columns, oldest first, and always summed from newest to oldest: the same events
give the same mean to the last bit, whatever was added and deleted in between.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vast.planning.compiled import Float, Int, kernel, part, popcount
from vast.planning.memory import NIL


class Events(NamedTuple):
    """Events, such as ends of episodes, in columns, oldest first."""

    keys: NDArray[np.uint64]
    """the state of each event"""
    actions: NDArray[np.uint8]
    """the action that led to it"""
    times: NDArray[np.int64]
    """when it happened"""
    values: NDArray[np.float64]
    """its reward"""
    expected: NDArray[np.float64]
    """the mean of the older events nearby, since the last change point; nan if there are none"""
    since: NDArray[np.int64]
    """the time of that change point; NIL if there is none"""


class Proximity(NamedTuple):
    """How events are weighted in a mean."""

    decay: NDArray[np.float64]
    """the weight for each distance in bits; 0 beyond the last entry"""
    horizon: Float
    """the age at which the weight has fallen to 1/e"""


@part
def nearness(events: Events, j: Int, key: Int, action: Int, proximity: Proximity) -> Float:
    """Return the weight of event j for a state and an action, 0 if it is out of reach."""
    if events.actions[j] != action:
        return 0.0
    far = popcount(events.keys[j] ^ key)
    return proximity.decay[far] if far < proximity.decay.size else 0.0


@part
def mean_at(events: Events, i: Int, first: Int, end: Int, proximity: Proximity) -> Float:
    """Return the mean of the events from `first` to before `end` near event i, or nan.

    Ages are relative to the newest event nearby: where there are no recent events, old ones count.
    """
    newest = NIL
    total = value = 0.0
    for j in range(end - 1, first - 1, -1):
        share = nearness(events, j, events.keys[i], events.actions[i], proximity)
        if share > 0:
            if newest == NIL:
                newest = events.times[j]
            share *= math.exp((events.times[j] - newest) / proximity.horizon)
            total += share
            value += share * events.values[j]
    return value / total


@kernel
def mark(
    events: Events,
    keys: NDArray[np.uint64],
    actions: NDArray[np.uint8],
    proximity: Proximity,
    marks: NDArray[np.bool_],
) -> None:
    """Mark the events within reach of one of these states with the same action."""
    for i in range(keys.size):
        for j in range(events.keys.size):
            if not marks[j] and nearness(events, j, keys[i], actions[i], proximity) > 0:
                marks[j] = True


class Surprises(NamedTuple):
    """The change-point rule: N surprises among the last `among` events with an expectation."""

    least: Float
    """the difference from the expected value above which an event is a surprise"""
    among: Int
    """the number of consecutive events with an expectation that are considered"""
    rows: NDArray[np.int64]
    """scratch, [N]: the rows of the last N surprises"""
    ordinals: NDArray[np.int64]
    """scratch, [N]: their ordinal numbers among the events with an expectation"""


@kernel
def last_change(
    events: Events, marks: NDArray[np.bool_], proximity: Proximity, surprises: Surprises
) -> Int:
    """Return the row of the last change point, the first of many surprises; 0 if there is none.

    Goes through all events in order. The expectation of each event is stored with it, and computed
    again only for marked events and for those whose last change point has moved.
    """
    rows, ordinals = surprises.rows, surprises.ordinals
    first = n_expected = n_surprises = 0
    since = NIL
    for i in range(events.keys.size):
        if marks[i] or events.since[i] != since:
            events.expected[i] = mean_at(events, i, first, i, proximity)
            events.since[i] = since
        if math.isnan(events.expected[i]):
            continue
        n_expected += 1
        if abs(events.values[i] - events.expected[i]) > surprises.least:
            slot = n_surprises % rows.size
            rows[slot], ordinals[slot] = i, n_expected
            n_surprises += 1
            earliest = n_surprises % rows.size
            if n_surprises >= rows.size and n_expected - ordinals[earliest] < surprises.among:
                first = rows[earliest]
                since = events.times[first]
                n_surprises = 0
    return first


@kernel
def means(
    events: Events,
    marks: NDArray[np.bool_],
    first: Int,
    proximity: Proximity,
    out: NDArray[np.float64],
) -> None:
    """Write the mean of the events from `first` on near each marked event, or nan."""
    for i in range(events.keys.size):
        if marks[i]:
            out[i] = mean_at(events, i, first, events.keys.size, proximity)
