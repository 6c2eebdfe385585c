"""What is told of an event from those in states nearby: the less, the farther and older they are.

Events are given in columns, oldest first, and always summed from the newest to the oldest: the same
events have the same means to the last bit, whatever came and went in between.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vast.planning.compiled import Float, Int, kernel, part, popcount
from vast.planning.memory import NIL


class Events(NamedTuple):
    """What happened, oldest first."""

    keys: NDArray[np.uint64]
    """the states in which it did"""
    actions: NDArray[np.uint8]
    """that led to it"""
    times: NDArray[np.int64]
    """when it did"""
    values: NDArray[np.float64]
    """what it brought"""
    expected: NDArray[np.float64]
    """what the older ones nearby had brought since the world was last seen to change; nan: none"""
    since: NDArray[np.int64]
    """when that was; NIL: never"""


class Manner(NamedTuple):
    """How means are made over the events of an action."""

    decay: NDArray[np.float64]
    """how much an event counts by how far its state is, in bits; beyond the last, nothing"""
    horizon: Float
    """the age at which it counts 1/e as much"""


@part
def nearness(events: Events, j: Int, key: Int, action: Int, manner: Manner) -> Float:
    """Return how much event j counts for a state and an action, 0 if it is out of reach."""
    if events.actions[j] != action:
        return 0.0
    far = popcount(events.keys[j] ^ key)
    return manner.decay[far] if far < manner.decay.size else 0.0


@part
def mean_at(events: Events, i: Int, first: Int, end: Int, manner: Manner) -> Float:
    """Return the mean of the events from `first` until `end` at the place of event i, or nan.

    Ages are told from the newest of them: where nothing happened lately, old events count.
    """
    newest = NIL
    total = value = 0.0
    for j in range(end - 1, first - 1, -1):
        share = nearness(events, j, events.keys[i], events.actions[i], manner)
        if share > 0:
            if newest == NIL:
                newest = events.times[j]
            share *= math.exp((events.times[j] - newest) / manner.horizon)
            total += share
            value += share * events.values[j]
    return value / total


@kernel
def mark(
    events: Events,
    keys: NDArray[np.uint64],
    actions: NDArray[np.uint8],
    manner: Manner,
    marks: NDArray[np.bool_],
) -> None:
    """Mark the events that are within reach of one of these states with its action."""
    for i in range(keys.size):
        for j in range(events.keys.size):
            if not marks[j] and nearness(events, j, keys[i], actions[i], manner) > 0:
                marks[j] = True


class Surprises(NamedTuple):
    """When the world is held to have changed."""

    least: Float
    """by how much an event must differ from what was expected to be a surprise"""
    among: Int
    """of so many events in a row before which anything was expected at all,"""
    rows: NDArray[np.int64]
    """so many must be surprises; scratch, [N] each: their rows,"""
    ordinals: NDArray[np.int64]
    """and how many events they come after before which anything was expected"""


@kernel
def last_change(
    events: Events, marks: NDArray[np.bool_], manner: Manner, surprises: Surprises
) -> Int:
    """Return the row of the first event of the world as it is: the first of many surprises at once.

    Goes through all events as they happened. What was expected before each is noted in it; it is
    told anew for those that are marked and those that have come to be in another world.
    """
    rows, ordinals = surprises.rows, surprises.ordinals
    first = n_expected = n_surprises = 0
    since = NIL
    for i in range(events.keys.size):
        if marks[i] or events.since[i] != since:
            events.expected[i] = mean_at(events, i, first, i, manner)
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
    events: Events, marks: NDArray[np.bool_], first: Int, manner: Manner, out: NDArray[np.float64]
) -> None:
    """Write what is to be expected at the place of each marked event, from `first` on, or nan."""
    for i in range(events.keys.size):
        if marks[i]:
            out[i] = mean_at(events, i, first, events.keys.size, manner)
