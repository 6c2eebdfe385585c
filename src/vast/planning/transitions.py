"""The transitions of a table as arrays, for analysis."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vast.planning.memory import ACTION_SHIFT, COUNT_SHIFT, STATE_MASK, Memory


class Transitions(NamedTuple):
    """Distinct transitions and their counts, in columns."""

    states: NDArray[np.uint64]
    actions: NDArray[np.int64]
    next_states: NDArray[np.uint64]
    """0 where the transition is terminal"""
    terminals: NDArray[np.bool_]
    counts: NDArray[np.int64]


def listed(
    m: Memory,
    words: NDArray[np.int64],
    targets: NDArray[np.int64],
    ends: NDArray[np.int64],
    end_actions: NDArray[np.int64],
) -> Transitions:
    """Return edges, followed by terminal transitions, with the keys of their states."""
    sources = np.concatenate([words & STATE_MASK, ends])
    actions = np.concatenate([words >> ACTION_SHIFT & 255, end_actions])
    nowhere = np.zeros(len(ends), np.uint64)
    return Transitions(
        states=m.key[sources],
        actions=actions,
        next_states=np.concatenate([m.key[targets], nowhere]),
        terminals=np.arange(len(sources)) >= len(words),
        counts=np.concatenate([words >> COUNT_SHIFT, m.terminal[ends, end_actions]]),
    )
