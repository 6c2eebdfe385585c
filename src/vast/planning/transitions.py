"""The transitions and values of a table as arrays, for analysis."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vast.planning.memory import ACTION_SHIFT, COUNT_SHIFT, STATE_MASK, Memory, in_use


class Transitions(NamedTuple):
    """Distinct transitions and their counts, in columns."""

    states: NDArray[np.uint64]
    actions: NDArray[np.int64]
    next_states: NDArray[np.uint64]
    """0 where the transition is terminal"""
    terminals: NDArray[np.bool_]
    counts: NDArray[np.int64]


class Pairs(NamedTuple):
    """What a table holds of each state and action, S states and A actions."""

    states: NDArray[np.uint64]
    """[S] also those in which no action was taken yet"""
    counts: NDArray[np.int32]
    """[S, A] N(s, a)"""
    q: NDArray[np.float64]
    """[S, A] Q(s, a), nan where a was never taken in s"""
    rewards: NDArray[np.float64]
    """[S, A] E[r|s,a], nan where a was never taken in s"""
    propagated: NDArray[np.float64]
    """[S] U(s), the value of s that its predecessors know"""


def pairs_of(m: Memory) -> Pairs:
    """Return everything a table holds of its states, in the order of its rows."""
    used = np.flatnonzero(in_use(m))
    counts = m.n[used]
    taken = counts > 0
    rewards = (m.reward[used] + m.reward_carry[used]) / np.where(taken, counts, 1)
    if len(m.offset):
        rewards += m.offset[used]
    q = m.q[used]
    q[~taken] = rewards[~taken] = np.nan
    return Pairs(m.key[used], counts, q, rewards, m.u[used])


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
