"""The neighbour estimate: an action never tried in a state borrows its value from nearby states.

Supplement, "Details to Q-value estimation": for each action, the mean of Q(s, a) over the nearest
states in Hamming distance in which the action was taken, weighted by how often it was.

Smoothed, which is not in the paper, states farther away have a say as well, also for actions that
were tried: the less, the farther they are. Few tries make noisy values, and the best of several
noisy values is too good to be true. The paper's estimate is the limit of no width.

With caution, also ours, an estimate is lowered by so many standard errors: of two actions that seem
equally good the one is taken that is known better.

The nearest states are searched in three ways, from the cheapest on: the state itself, by hash; all
codes at distance 1 and then 2, by hash, if there are many states to compare with; all states, by
counting the bits that differ. Each is exact, so that their combination is.
"""

import math
from functools import cache
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
NEGLIGIBLE = 7.0
"""widths beyond the nearest state at which another counts less than a thousandth as much"""


@cache
def decay(width: float) -> NDArray[np.float64]:
    """Return how much a state counts by how much farther it is than the nearest, in bits."""
    reach = min(int(NEGLIGIBLE * width), BITS)
    return np.exp(-np.arange(reach + 1) / width) if reach else np.ones(1)


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
    squares: NDArray[np.float64]
    """the weighted sum of Q(s, a) squared, for its spread; only where states are blended"""


@part
def consider(m: Neighbourhood, s: Int, far: Int, found: Estimate) -> None:
    """Let state s, which is `far` away, speak for each action unless a nearer state has spoken."""
    q, distance, weight, _ = found
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
def measure(m: Neighbourhood, k: np.uint64, start: Int, size: Int, far: NDArray[np.uint8]) -> Int:
    """Write how far the states of a block are from a key; return the least."""
    nearest = np.uint64(BITS)
    for i in range(size):
        bits = popcount(m.key[start + i] ^ k)
        far[i] = bits
        nearest = min(nearest, bits)
    return nearest


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
        nearest = measure(m, k, start, size, far)
        if nearest <= limit:
            for i in range(size):
                if settled < far[i] <= limit:
                    consider(m, start + i, np.int64(far[i]), found)
            limit = np.uint64(farthest(found.distance))
        start += size


@part
def estimate_one(m: Neighbourhood, k: np.uint64, found: Estimate, far: NDArray[np.uint8]) -> None:
    """Write the estimate for one key."""
    q, distance, weight, _ = found
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


class Manner(NamedTuple):
    """How a smoothed or cautious estimate is made."""

    decay: NDArray[np.float64]
    """how much a state counts by how much farther it is than the nearest"""
    width: float
    """bits in which that falls to 1/e"""
    caution: float
    """standard errors by which an estimate is lowered"""
    lost: float
    """the share of a value that a step costs, 1 - gamma: values are never known better"""


@part
def blend(
    m: Neighbourhood,
    k: np.uint64,
    found: Estimate,
    far: NDArray[np.uint8],
    manner: Manner,
) -> None:
    """Let states have a say that are a little farther away than the nearest, which are known."""
    q, distance, weight, squares = found
    decay = manner.decay
    limit = -1
    for a in range(distance.size):
        q[a] = weight[a] = squares[a] = 0.0
        if distance[a] != NIL:
            limit = max(limit, distance[a] + decay.size - 1)
    slots = np.uint64(m.meta[SLOTS] if limit >= 0 else 0)
    start = np.uint64(0)
    while start < slots:
        size = min(np.uint64(BLOCK), slots - start)
        nearest = measure(m, k, start, size, far)
        if np.int64(nearest) <= limit:
            for i in range(size):
                if far[i] <= limit:
                    s = start + i
                    for a in range(distance.size):
                        farther = far[i] - distance[a]
                        if m.n[s, a] > 0 and farther < decay.size:
                            share = m.n[s, a] * decay[farther]
                            q[a] += share * m.q[s, a]
                            squares[a] += share * m.q[s, a] ** 2
                            weight[a] += share
        start += size
    for a in range(distance.size):
        if distance[a] != NIL:
            q[a] /= weight[a]


@part
def lower(found: Estimate, manner: Manner) -> None:
    """Lower each estimate by its standard error, counting visits to farther states for less."""
    q, distance, weight, squares = found
    nearest = BITS
    for a in range(distance.size):
        if distance[a] != NIL:
            nearest = min(nearest, distance[a])
    for a in range(distance.size):
        if distance[a] != NIL:
            visits = weight[a]
            if manner.width > 0:
                visits *= math.exp(-(distance[a] - nearest) / manner.width)
            variance = max(squares[a] / weight[a] - q[a] ** 2, 0.0) + (manner.lost * q[a]) ** 2
            q[a] -= manner.caution * math.sqrt(variance / visits)


@kernel
def estimate(
    m: Neighbourhood,
    keys: NDArray[np.uint64],
    q: NDArray[np.float64],
    distance: NDArray[np.int64],
    scratch: NDArray[np.float64],
    far: NDArray[np.uint8],
    manner: Manner,
) -> None:
    """Write the estimates for each key, [K, A], and the distances they come from, NIL for none."""
    for i in range(keys.size):
        found = Estimate(q[i], distance[i], scratch[0], scratch[1])
        estimate_one(m, keys[i], found, far)
        if manner.decay.size > 1 or manner.caution > 0:
            blend(m, keys[i], found, far, manner)
        if manner.caution > 0:
            lower(found, manner)
