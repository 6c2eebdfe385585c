"""The neighbour estimate: an action never tried in a state borrows its value from nearby states.

Supplement, "Details to Q-value estimation": for each action, the mean of Q(s, a) over the nearest
states in Hamming distance in which the action was taken, weighted by how often it was.

The nearest states are searched in three ways, from the cheapest on: the state itself, by hash; all
codes at distance 1 and then 2, by hash, if there are many states to compare with; all states, by
counting the bits that differ. Each is exact, so that their combination is.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vast.planning.compiled import Int, kernel, part, popcount
from vast.planning.index import find
from vast.planning.memory import NIL, SLOTS, Memory

BITS = 64
BLOCK = 256
"""states whose distances are computed together, which LLVM turns into vector instructions"""
PROBE_1 = 20 * BITS
PROBE_2 = 20 * BITS * (BITS - 1) // 2
"""from how many states on it is faster to probe all codes at distance 1, 2 than to scan"""


class Neighbourhood(NamedTuple):
    """The arrays of a table that a lookup reads; see Memory."""

    key: NDArray[np.uint64]
    slot: NDArray[np.int32]
    q: NDArray[np.float64]
    n: NDArray[np.int32]
    meta: NDArray[np.int64]


def neighbourhood(m: Memory) -> Neighbourhood:
    """Return the part of a table's memory that a lookup reads."""
    return Neighbourhood(m.key, m.slot, m.q, m.n, m.meta)


class Estimate(NamedTuple):
    """What is known so far of each action for one key, [A] each."""

    q: NDArray[np.float64]
    """the weighted sum of Q(s, a) over the nearest states, in the end the mean"""
    distance: NDArray[np.int64]
    """how far away these are, NIL if there are none"""
    weight: NDArray[np.float64]
    """how often the action was taken in them"""


@part
def consider(m: Neighbourhood, s: Int, far: Int, found: Estimate) -> None:
    """Let state s, which is `far` away, speak for each action unless a nearer state has spoken."""
    q, distance, weight = found
    for a in range(distance.size):
        count = m.n[s, a]
        if count > 0 and (distance[a] == NIL or far <= distance[a]):
            if far != distance[a]:
                distance[a] = far
                q[a] = 0.0
                weight[a] = 0.0
            q[a] += count * m.q[s, a]
            weight[a] += count


@part
def consider_key(m: Neighbourhood, k: np.uint64, far: Int, found: Estimate) -> None:
    """Let the state with this key, if there is one, speak."""
    s = find(m.key, m.slot, k)
    if s != NIL:
        consider(m, s, far, found)


@part
def farthest(distance: NDArray[np.int64]) -> Int:
    """Return the largest distance that could still matter: of the action that is worst off."""
    most = 0
    for a in range(distance.size):
        if distance[a] == NIL:
            return BITS
        most = max(most, distance[a])
    return most


@part
def scan(
    m: Neighbourhood, k: np.uint64, found: Estimate, far: NDArray[np.uint8], settled: Int
) -> None:
    """Compare with all states, farther away than `settled`, which have been considered already."""
    limit = np.uint64(farthest(found.distance))
    slots = np.uint64(m.meta[SLOTS])
    start = np.uint64(0)
    while start < slots:
        size = min(np.uint64(BLOCK), slots - start)
        nearest = np.uint64(BITS)
        for i in range(size):
            bits = popcount(m.key[start + i] ^ k)
            far[i] = bits
            nearest = min(nearest, bits)
        if nearest <= limit:
            for i in range(size):
                if settled < far[i] <= limit:
                    consider(m, start + i, np.int64(far[i]), found)
            limit = np.uint64(farthest(found.distance))
        start += size


@part
def estimate_one(m: Neighbourhood, k: np.uint64, found: Estimate, far: NDArray[np.uint8]) -> None:
    """Write the estimate for one key."""
    q, distance, weight = found
    one = np.uint64(1)
    for a in range(distance.size):
        q[a] = 0.0
        distance[a] = NIL
    settled = 0
    consider_key(m, k, 0, found)
    if farthest(distance) > 0 and m.meta[SLOTS] > PROBE_1:
        settled = 1
        for b in range(BITS):
            consider_key(m, k ^ (one << np.uint64(b)), 1, found)
        if farthest(distance) > 1 and m.meta[SLOTS] > PROBE_2:
            settled = 2
            for b in range(BITS):
                flipped = k ^ (one << np.uint64(b))
                for c in range(b):
                    consider_key(m, flipped ^ (one << np.uint64(c)), 2, found)
    if farthest(distance) > settled:
        scan(m, k, found, far, settled)
    for a in range(distance.size):
        if distance[a] != NIL:
            q[a] /= weight[a]


@kernel
def estimate(
    m: Neighbourhood,
    keys: NDArray[np.uint64],
    q: NDArray[np.float64],
    distance: NDArray[np.int64],
    weight: NDArray[np.float64],
    far: NDArray[np.uint8],
) -> None:
    """Write the estimates for each key, [K, A], and the distances they come from, NIL for none."""
    for i in range(keys.size):
        estimate_one(m, keys[i], Estimate(q[i], distance[i], weight), far)
