"""The nearest of many keys, in compiled loops: among all, or in the lists of some centroids.

Distances in single precision tell which keys may be among the nearest, given their rounding errors;
these are then compared in double precision. A result depends on the keys and the query alone, not
on the order of the keys or on what else is searched for.
"""

from typing import Any

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
def search_lists(
    centroids: Keys,
    slab_keys: Keys,
    slab_rows: Rows,
    previous: Rows,
    tails: Rows,
    sizes: Rows,
    queries: Keys,
    probes: int,
    rows: Rows,
    squared: Floats,
) -> None:
    """Write the nearest keys of the lists that are nearest to each query, as `search_all` does.

    Where these lists hold fewer than k keys, more are read; all together hold k or more.
    """
    k = rows.shape[1]
    for q in range(len(queries)):
        query, mine, far, have = queries[q], rows[q], squared[q], 0
        width = len(query)
        reading = min(probes, len(centroids))
        while True:
            which = np.empty(reading, np.int64)
            nearest_centroids(centroids, query, which, np.empty(reading, np.float32))
            if sizes[which].sum() >= k or reading == len(centroids):
                break
            reading = min(2 * reading, len(centroids))
        bound = _bound(have, far, width)
        for chosen in which:
            slab, filled = tails[chosen], sizes[chosen] % SLAB
            while slab >= 0:
                for i in range(filled if filled else SLAB):
                    if have == k and squared_distance(slab_keys[slab, i], query) > bound:
                        continue
                    have = _consider(
                        slab_keys[slab, i], slab_rows[slab, i], query, have, mine, far, bound
                    )
                    bound = _bound(have, far, width)
                slab, filled = previous[slab], SLAB


@compiled()
def _margin(centroids: Keys, key: Keys) -> tuple[int, float]:
    """Return the nearest centroid, and by how much the key is farther from every other one."""
    which, far = np.empty(2, np.int64), np.empty(2, np.float32)
    far[:] = np.inf
    nearest_centroids(centroids, key, which[: min(2, len(centroids))], far)
    near, next_ = np.sqrt(np.float64(far[0])), np.sqrt(np.float64(far[1]))
    return which[0], next_ - near - (len(key) + 4) * EPSILON * (next_ + near)


@compiled()
def add_to_lists(
    centroids: Keys,
    slab_keys: Keys,
    slab_rows: Rows,
    previous: Rows,
    tails: Rows,
    sizes: Rows,
    free: Rows,
    places: Rows,
    list_of: Rows,
    margins: Floats,
    rows: Rows,
    keys: Keys,
) -> None:
    """Append rows to the lists of their nearest centroids. `free[0]` counts the free slabs."""
    for i in range(len(rows)):
        row, key = rows[i], keys[i]
        chosen, margins[row] = _margin(centroids, key)
        at = sizes[chosen] % SLAB
        if at == 0:
            slab = free[free[0]]
            free[0] -= 1
            previous[slab], tails[chosen] = tails[chosen], slab
        slab = tails[chosen]
        slab_keys[slab, at], slab_rows[slab, at] = key, row
        places[row], list_of[row] = slab * SLAB + at, chosen
        sizes[chosen] += 1


@compiled()
def _take_out(
    slab_keys: Keys,
    slab_rows: Rows,
    previous: Rows,
    tails: Rows,
    sizes: Rows,
    free: Rows,
    places: Rows,
    list_of: Rows,
    row: int,
) -> None:
    """Remove a row from its list: the last entry of the list takes its place."""
    chosen = list_of[row]
    sizes[chosen] -= 1
    tail, last = tails[chosen], sizes[chosen] % SLAB
    slab, at = places[row] // SLAB, places[row] % SLAB
    moved = slab_rows[tail, last]
    slab_keys[slab, at], slab_rows[slab, at] = slab_keys[tail, last], moved
    places[moved] = places[row]
    if last == 0:
        tails[chosen] = previous[tail]
        free[0] += 1
        free[free[0]] = tail


@compiled()
def move_in_lists(
    centroids: Keys,
    slab_keys: Keys,
    slab_rows: Rows,
    previous: Rows,
    tails: Rows,
    sizes: Rows,
    free: Rows,
    places: Rows,
    list_of: Rows,
    margins: Floats,
    rows: Rows,
    keys: Keys,
) -> None:
    """Replace the keys of rows.

    A key that has moved by less than half its margin since it was last compared with all centroids
    is still nearest to the same one.
    """
    for i in range(len(rows)):
        row, key = rows[i], keys[i]
        slab, at = places[row] // SLAB, places[row] % SLAB
        moved = np.sqrt(_exactly(key, slab_keys[slab, at]))
        margins[row] -= 2 * moved * (1 + EPSILON)
        if margins[row] > 0:
            slab_keys[slab, at] = key
            continue
        _take_out(slab_keys, slab_rows, previous, tails, sizes, free, places, list_of, row)
        add_to_lists(
            centroids,
            slab_keys,
            slab_rows,
            previous,
            tails,
            sizes,
            free,
            places,
            list_of,
            margins,
            rows[i : i + 1],
            keys[i : i + 1],
        )
