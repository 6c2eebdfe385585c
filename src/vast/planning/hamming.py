"""The neighbour estimate: an action never tried in a state takes its value from nearby states.

Supplement, "Details to Q-value estimation": for each action, the mean of Q(s, a) over the nearest
states in Hamming distance in which the action was taken, weighted by its counts N(s, a).

Smoothing (not in the paper) also includes states farther away, with weights that decay with the
distance, even for actions that were tried in the state itself. Values from few visits are noisy,
and the maximum of several noisy values is biased upwards. Width 0 is the paper's estimate.

Caution (not in the paper) lowers an estimate by a number of standard errors. Of two actions with
equal values, the better-known one is then preferred.

The nearest states are searched in three ways, cheapest first: the state itself, by hash; all codes
at distance 1 and then 2, by hash, if there are many states; all states, by counting the bits that
differ. Each search is exact, and so is their combination.
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
BLOCK = 64
"""how many distances are computed in one loop, which LLVM vectorizes"""
GATHERED = 1024
"""how many near states are found before they are read, so that their memory is fetched at once"""
PROBE_1 = 20 * BITS
PROBE_2 = 20 * BITS * (BITS - 1) // 2
"""number of states above which probing all codes at distance 1, 2 is faster than scanning"""
NEGLIGIBLE = 7.0
"""widths beyond the nearest state at which a weight falls below a thousandth"""


@cache
def decay(width: float) -> NDArray[np.float64]:
    """Return the weight of a state for each distance beyond the nearest state, in bits."""
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
    """The estimate of each action for one key, while it is computed; [A] each."""

    q: NDArray[np.float64]
    """the weighted sum of Q(s, a) over the nearest states, finally their mean"""
    distance: NDArray[np.int64]
    """the distance of these states, NIL if there are none"""
    weight: NDArray[np.float64]
    """the sum of the counts N(s, a) of these states"""
    squares: NDArray[np.float64]
    """the weighted sum of Q(s, a) squared, for the variance; used only by `blend`"""


class Scratch(NamedTuple):
    """Arrays that a lookup writes to and nobody reads afterwards."""

    sums: NDArray[np.float64]
    """[2, A]: `weight` and `squares` of an estimate"""
    far: NDArray[np.uint8]
    """[BLOCK], the distances of a block of states"""
    rows: NDArray[np.int64]
    """[GATHERED + BLOCK], near states"""
    bits: NDArray[np.uint8]
    """[GATHERED + BLOCK], their distances"""


def scratch(n_actions: int) -> Scratch:
    """Return the scratch arrays for this many actions."""
    most = GATHERED + BLOCK
    return Scratch(
        np.zeros((2, n_actions)),
        np.zeros(BLOCK, np.uint8),
        np.zeros(most, np.int64),
        np.zeros(most, np.uint8),
    )


@part
def consider(m: Neighbourhood, s: Int, far: Int, found: Estimate) -> None:
    """Include state s, at distance `far`, for each action without a nearer state."""
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
    """Include the state with this key, if there is one."""
    s = find(m.key, m.slot, k)
    if s != NIL:
        consider(m, s, far, found)


@part
def farthest(distance: NDArray[np.int64]) -> Int:
    """Return the largest distance that could still matter: the maximum over the actions."""
    most = 0
    for a in range(distance.size):
        if distance[a] == NIL:
            return BITS
        most = max(most, distance[a])
    return most


@part
def measure_distances(
    m: Neighbourhood, k: np.uint64, start: Int, size: Int, far: NDArray[np.uint8]
) -> Int:
    """Write the distances of a block of states from a key; return the smallest."""
    nearest = np.uint64(BITS)
    for i in range(size):
        bits = popcount(m.key[start + i] ^ k)
        far[i] = bits
        nearest = min(nearest, bits)
    return nearest


@part
def scan(
    m: Neighbourhood, k: np.uint64, found: Estimate, far: NDArray[np.uint8], searched: Int
) -> None:
    """Scan all states; those up to distance `searched` are already included."""
    limit = np.uint64(farthest(found.distance))
    slots = np.uint64(m.meta[SLOTS])
    start = np.uint64(0)
    while start < slots:
        size = min(np.uint64(BLOCK), slots - start)
        nearest = measure_distances(m, k, start, size, far)
        if nearest <= limit:
            for i in range(size):
                if searched < far[i] <= limit:
                    consider(m, start + i, np.int64(far[i]), found)
            limit = np.uint64(farthest(found.distance))
        start += size


@part
def estimate_one(m: Neighbourhood, k: np.uint64, found: Estimate, far: NDArray[np.uint8]) -> None:
    """Write the paper's estimate for one key."""
    q, distance, weight, _ = found
    one = np.uint64(1)
    for a in range(distance.size):
        q[a] = 0.0
        distance[a] = NIL
    searched = 0
    consider_key(m, k, 0, found)
    if farthest(distance) > 0 and m.meta[SLOTS] > PROBE_1:
        searched = 1
        for b in range(BITS):
            consider_key(m, k ^ (one << np.uint64(b)), 1, found)
        if farthest(distance) > 1 and m.meta[SLOTS] > PROBE_2:
            searched = 2
            for b in range(BITS):
                flipped = k ^ (one << np.uint64(b))
                for c in range(b):
                    consider_key(m, flipped ^ (one << np.uint64(c)), 2, found)
    if farthest(distance) > searched:
        scan(m, k, found, far, searched)
    for a in range(distance.size):
        if distance[a] != NIL:
            q[a] /= weight[a]


class Smoothing(NamedTuple):
    """Parameters of a smoothed or cautious estimate."""

    decay: NDArray[np.float64]
    """the weight of a state for each distance beyond the nearest state"""
    width: float
    """the distance in bits at which the weight has fallen to 1/e"""
    caution: float
    """standard errors by which an estimate is lowered"""
    lost: float
    """1 - gamma, the fraction of a value lost per step: a lower bound on its relative error"""


@part
def gather(
    m: Neighbourhood, k: np.uint64, start: np.uint64, limit: Int, scratch: Scratch
) -> tuple[np.uint64, np.uint64]:
    """Write states from `start` on that are near a key; return where to go on, and how many."""
    far, rows, bits = scratch.far, scratch.rows, scratch.bits
    slots, count = np.uint64(m.meta[SLOTS]), np.uint64(0)
    while start < slots and count < np.uint64(GATHERED):
        size = min(np.uint64(BLOCK), slots - start)
        if measure_distances(m, k, start, size, far) <= limit:
            for i in range(size):
                if far[i] <= limit:
                    rows[count], bits[count] = start + i, far[i]
                    count += np.uint64(1)
        start += size
    return start, count


@part
def blend(
    m: Neighbourhood, k: np.uint64, found: Estimate, scratch: Scratch, smoothing: Smoothing
) -> None:
    """Recompute the estimate with states up to a little farther away than the nearest."""
    q, distance, weight, squares = found
    decay = smoothing.decay
    limit = -1
    for a in range(distance.size):
        q[a] = weight[a] = squares[a] = 0.0
        if distance[a] != NIL:
            limit = max(limit, distance[a] + decay.size - 1)
    if limit < 0:
        return
    start = np.uint64(0)
    while start < np.uint64(m.meta[SLOTS]):
        start, count = gather(m, k, start, np.uint64(limit), scratch)
        for i in range(count):
            s = scratch.rows[i]
            for a in range(distance.size):
                farther = scratch.bits[i] - distance[a]
                if m.n[s, a] > 0 and farther < decay.size:
                    share = m.n[s, a] * decay[farther]
                    q[a] += share * m.q[s, a]
                    squares[a] += share * m.q[s, a] ** 2
                    weight[a] += share
    for a in range(distance.size):
        if distance[a] != NIL:
            q[a] /= weight[a]


@part
def apply_caution(found: Estimate, smoothing: Smoothing) -> None:
    """Lower each estimate by its standard errors; visits to farther states count less."""
    q, distance, weight, squares = found
    nearest = BITS
    for a in range(distance.size):
        if distance[a] != NIL:
            nearest = min(nearest, distance[a])
    for a in range(distance.size):
        if distance[a] != NIL:
            visits = weight[a]
            if smoothing.width > 0:
                visits *= math.exp(-(distance[a] - nearest) / smoothing.width)
            variance = max(squares[a] / weight[a] - q[a] ** 2, 0.0) + (smoothing.lost * q[a]) ** 2
            q[a] -= smoothing.caution * math.sqrt(variance / visits)


@kernel
def estimate(
    m: Neighbourhood,
    keys: NDArray[np.uint64],
    q: NDArray[np.float64],
    distance: NDArray[np.int64],
    scratch: Scratch,
    smoothing: Smoothing,
) -> None:
    """Write the estimates for each key, [K, A], and the distances of the states used, or NIL."""
    for i in range(keys.size):
        found = Estimate(q[i], distance[i], scratch.sums[0], scratch.sums[1])
        estimate_one(m, keys[i], found, scratch.far)
        if smoothing.decay.size > 1 or smoothing.caution > 0:
            blend(m, keys[i], found, scratch, smoothing)
        if smoothing.caution > 0:
            apply_caution(found, smoothing)
