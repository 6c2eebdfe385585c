"""The nearest of many keys, in compiled loops: among all, or in the lists of some centroids.

Distances in single precision tell which keys may be among the nearest, given their rounding errors;
these are then compared in double precision. A result depends on the keys and the query alone, not
on the order of the keys or on what else is searched for.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vast.agents.compiled import compiled

Keys = NDArray[np.float32]
Rows = NDArray[np.int64]
Floats = NDArray[np.float64]

BLOCK = 512
"""keys that all queries are compared with before the next ones, so that they stay in the cache"""
SLAB = 64
"""entries of a list that are stored side by side"""
EPSILON = float(np.finfo(np.float32).eps)


@compiled(fastmath={"reassoc", "contract", "nsz"})
def squared_distance(one: Keys, other: Keys) -> Any:
    """Return the squared distance in single precision; off by a share of (width + 4) epsilon."""
    total = np.float32(0)
    for i in range(len(one)):
        difference = one[i] - other[i]
        total += difference * difference
    return total


@compiled()
def _exactly(one: Keys, other: Keys) -> float:
    """Return the squared distance in double precision."""
    total = 0.0
    for i in range(len(one)):
        difference = np.float64(one[i]) - np.float64(other[i])
        total += difference * difference
    return total


@compiled()
def _consider(
    key: Keys, row: int, query: Keys, found: int, rows: Rows, squared: Floats, bound: float
) -> int:
    """Insert a key among the nearest so far, unless it is too far; return how many there are.

    `rows` and `squared` are sorted, the nearest first; of equally near ones, lower rows.
    """
    k = len(rows)
    if found == k and squared_distance(key, query) > bound:
        return found
    exact = _exactly(key, query)
    at = found
    while at > 0 and (squared[at - 1] > exact or (squared[at - 1] == exact and rows[at - 1] > row)):
        at -= 1
    if at == k:
        return found
    if found < k:
        found += 1
    for i in range(found - 1, at, -1):
        rows[i], squared[i] = rows[i - 1], squared[i - 1]
    rows[at], squared[at] = row, exact
    return found


@compiled()
def _bound(found: int, squared: Floats, width: int) -> Any:
    """Return the distance in single precision above which a key is farther than all found."""
    if found < len(squared):
        return np.inf
    return squared[-1] * (1 + 2 * (width + 4) * EPSILON) + 1e-37


@compiled()
def search_all(keys: Keys, queries: Keys, rows: Rows, squared: Floats) -> None:
    """Write the nearest of all keys to each row of `rows` [Q, k] and `squared` [Q, k].

    There must be k keys or more.
    """
    n, width = keys.shape
    found = np.zeros(len(queries), np.int64)
    for start in range(0, n, BLOCK):
        for q in range(len(queries)):
            query, mine, far, have = queries[q], rows[q], squared[q], found[q]
            bound = _bound(have, far, width)
            for row in range(start, min(start + BLOCK, n)):
                # The comparison of `_consider`, here for speed: nearly all keys are too far.
                if have == len(mine) and squared_distance(keys[row], query) > bound:
                    continue
                have = _consider(keys[row], row, query, have, mine, far, bound)
                bound = _bound(have, far, width)
            found[q] = have


# --- lists around centroids -----------------------------------------------------------------------


class Lists(NamedTuple):
    """Keys in lists around centroids.

    A list is a chain of slabs, each a block of memory with some keys side by side, and full but for
    the last one.
    """

    centroids: Keys
    """[lists, width]"""
    keys: Keys
    """[slabs, SLAB, width]"""
    rows: Rows
    """[slabs, SLAB], whose keys these are"""
    previous: Rows
    """[slabs], the slab before each in its list; -1: none"""
    tails: Rows
    """[lists], the last slab of each; -1: none"""
    sizes: Rows
    """[lists], keys in each"""
    free: Rows
    """[1 + slabs], how many slabs are free, then which; the next one to be used is the last"""
    places: Rows
    """[rows], SLAB times the slab of each row, plus its place there"""
    list_of: Rows
    """[rows], the list that each is in"""
    margins: Floats
    """[rows], twice as far as each may move at least until another centroid is nearer"""


@compiled()
def nearest_centroids(centroids: Keys, key: Keys, which: Rows, far: Keys) -> None:
    """Write the nearest centroids to `which`, and their squared distances to `far`, both sorted.

    In single precision, and of equally near ones the lower: the same for a key and for a query.
    """
    n = 0
    for c in range(len(centroids)):
        distance = squared_distance(centroids[c], key)
        if n == len(which) and distance >= far[n - 1]:
            continue
        if n < len(which):
            n += 1
        at = n - 1
        while at > 0 and far[at - 1] > distance:
            which[at], far[at] = which[at - 1], far[at - 1]
            at -= 1
        which[at], far[at] = c, distance


@compiled()
def search_lists(lists: Lists, queries: Keys, probes: int, rows: Rows, squared: Floats) -> None:
    """Write the nearest keys of the lists that are nearest to each query, as `search_all` does.

    Where these lists hold fewer than k keys, more are read; all together hold k or more.
    """
    k, n_lists = rows.shape[1], len(lists.centroids)
    for q in range(len(queries)):
        query, mine, far, have = queries[q], rows[q], squared[q], 0
        width = len(query)
        reading = min(probes, n_lists)
        while True:
            which = np.empty(reading, np.int64)
            nearest_centroids(lists.centroids, query, which, np.empty(reading, np.float32))
            if lists.sizes[which].sum() >= k or reading == n_lists:
                break
            reading = min(2 * reading, n_lists)
        bound = _bound(have, far, width)
        for chosen in which:
            slab, filled = lists.tails[chosen], lists.sizes[chosen] % SLAB
            while slab >= 0:
                keys, owners = lists.keys[slab], lists.rows[slab]
                for i in range(filled if filled else SLAB):
                    if have == k and squared_distance(keys[i], query) > bound:
                        continue
                    have = _consider(keys[i], owners[i], query, have, mine, far, bound)
                    bound = _bound(have, far, width)
                slab, filled = lists.previous[slab], SLAB


@compiled()
def _margin(centroids: Keys, key: Keys) -> tuple[int, float]:
    """Return the nearest centroid, and by how much the key is farther from every other one."""
    which, far = np.empty(2, np.int64), np.empty(2, np.float32)
    far[:] = np.inf
    nearest_centroids(centroids, key, which[: min(2, len(centroids))], far)
    near, next_ = np.sqrt(np.float64(far[0])), np.sqrt(np.float64(far[1]))
    return which[0], next_ - near - (len(key) + 4) * EPSILON * (next_ + near)


@compiled()
def add_to_lists(lists: Lists, rows: Rows, keys: Keys) -> None:
    """Append rows to the lists of their nearest centroids."""
    free = lists.free
    for i in range(len(rows)):
        row = rows[i]
        chosen, lists.margins[row] = _margin(lists.centroids, keys[i])
        at = lists.sizes[chosen] % SLAB
        if at == 0:
            slab = free[free[0]]
            free[0] -= 1
            lists.previous[slab], lists.tails[chosen] = lists.tails[chosen], slab
        slab = lists.tails[chosen]
        lists.keys[slab, at], lists.rows[slab, at] = keys[i], row
        lists.places[row], lists.list_of[row] = slab * SLAB + at, chosen
        lists.sizes[chosen] += 1


@compiled()
def _take_out(lists: Lists, row: int) -> None:
    """Remove a row from its list: the last entry of the list takes its place."""
    chosen, place = lists.list_of[row], lists.places[row]
    lists.sizes[chosen] -= 1
    tail, last = lists.tails[chosen], lists.sizes[chosen] % SLAB
    slab, at = place // SLAB, place % SLAB
    moved = lists.rows[tail, last]
    lists.keys[slab, at], lists.rows[slab, at] = lists.keys[tail, last], moved
    lists.places[moved] = place
    if last == 0:
        lists.tails[chosen] = lists.previous[tail]
        lists.free[0] += 1
        lists.free[lists.free[0]] = tail


@compiled()
def move_in_lists(lists: Lists, rows: Rows, keys: Keys) -> None:
    """Replace the keys of rows.

    A key that has moved by less than half its margin since it was last compared with all centroids
    is still nearest to the same one.
    """
    for i in range(len(rows)):
        row = rows[i]
        slab, at = lists.places[row] // SLAB, lists.places[row] % SLAB
        moved = np.sqrt(_exactly(keys[i], lists.keys[slab, at]))
        lists.margins[row] -= 2 * moved * (1 + EPSILON)
        if lists.margins[row] > 0:
            lists.keys[slab, at] = keys[i]
        else:
            _take_out(lists, row)
            add_to_lists(lists, rows[i : i + 1], keys[i : i + 1])
