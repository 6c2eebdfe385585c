"""A map for tasks without coordinates: the state graph drawn by its distances.

Pivot MDS (Brandes & Pich 2007): the number of steps from every state to a few pivots, and the plane
that keeps these distances best. It is deterministic and takes about a second for 100 000 states.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, dijkstra

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

PIVOTS = 40
GAP = 0.25
"""space between two components, in widths of the larger one"""
GOLDEN = np.pi * (3 - 5**0.5)
"""the angle by which points that coincide are spread, as in a sunflower"""
SPREAD = 0.004
"""how far they are spread, in widths of the component"""


def layout(sources: Integers, targets: Integers, n_states: int) -> Floats:
    """Return a place for each state, [S, 2], from the rows of the transitions between them."""
    links = csr_array(
        (np.ones(2 * len(sources), np.float32), (_both(sources, targets), _both(targets, sources))),
        shape=(n_states, n_states),
    )
    links.data[:] = 1.0
    _, label = connected_components(links, directed=False)
    size = np.bincount(label, minlength=1)
    places = np.zeros((n_states, 2))
    parts = []
    for part in np.argsort(-size, kind="stable"):
        if size[part] < 3:
            break
        rows = np.flatnonzero(label == part)
        places[rows] = _component(links[rows][:, rows])
        parts.append(rows)
    small = np.flatnonzero(size[label] < 3)
    places[small] = _rows_of_points(len(small))
    _pack(places, [*parts, small])
    return places


def _both(one: Integers, other: Integers) -> Integers:
    return np.concatenate([one, other])


def _component(links: csr_array) -> Floats:
    """Return places for the states of one component; its width is the root of its size."""
    n = links.shape[0]
    distance = _distances_to_pivots(links)
    squared = distance**2
    centred = squared - squared.mean(0) - squared.mean(1)[:, None] + squared.mean()
    values, vectors = np.linalg.eigh(centred.T @ centred)
    axes = vectors[:, np.argsort(-values, kind="stable")[:2]]
    # An eigenvector has no sign of its own: its largest entry is made positive.
    axes = axes * np.sign(axes[np.abs(axes).argmax(0), np.arange(axes.shape[1])])
    places = np.zeros((n, 2))
    places[:, : axes.shape[1]] = -centred @ axes
    width = max(float(np.ptp(places, axis=0).max()), 1e-12)
    scaled: Floats = _spread(places / width) * n**0.5
    return scaled


def _distances_to_pivots(links: csr_array) -> Floats:
    """Return steps to pivots, [n, k]; each next pivot is the state farthest from those before."""
    n = links.shape[0]
    pivot = int(np.diff(links.indptr).argmax())
    nearest = np.full(n, np.inf)
    found = []
    for _ in range(min(PIVOTS, n)):
        steps = breadth_first(links, pivot)
        found.append(steps)
        nearest = np.minimum(nearest, steps)
        pivot = int(nearest.argmax())
    return np.stack(found, axis=1)


def breadth_first(links: csr_array, start: int) -> Floats:
    """Return the number of steps from one state to each."""
    search: Any = dijkstra  # its type hints know no sparse arrays
    steps: Floats = search(links, directed=False, indices=start, unweighted=True)
    return steps


def _spread(places: Floats) -> Floats:
    """Move points apart that coincide: states with the same distances to all pivots."""
    _, group, count = np.unique(
        np.round(places / SPREAD).astype(np.int64), axis=0, return_inverse=True, return_counts=True
    )
    group = group.reshape(-1)
    order = np.argsort(group, kind="stable")
    starts = np.cumsum(count) - count
    rank = np.empty(len(places))
    rank[order] = np.arange(len(places)) - starts[group[order]]
    radius, angle = SPREAD * np.sqrt(rank), GOLDEN * rank
    offsets: Floats = radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return places + offsets


def _rows_of_points(n: int) -> Floats:
    columns = max(1, int(np.ceil(np.sqrt(4 * n))))
    at = np.arange(n)
    return np.stack([at % columns, -(at // columns)], axis=1).astype(np.float64)


def _pack(places: Floats, parts: list[Integers]) -> None:
    """Put the parts side by side, the largest first, in rows about as wide as all of them."""
    boxes = [(places[rows].min(0), np.ptp(places[rows], axis=0)) for rows in parts if len(rows)]
    rows_of = [rows for rows in parts if len(rows)]
    if not boxes:
        return
    gap = GAP * max(float(size.max()) for _, size in boxes) if len(boxes) > 1 else 0.0
    area = sum(float((size[0] + gap) * (size[1] + gap)) for _, size in boxes)
    wide = max(1.3 * area**0.5, *(float(size[0]) for _, size in boxes), 0.0)
    x = y = tall = 0.0
    for rows, (low, size) in zip(rows_of, boxes, strict=True):
        if x > 0 and x + size[0] > wide:
            x, y, tall = 0.0, y - tall - gap, 0.0
        places[rows] += (x - low[0], y - size[1] - low[1])
        x += float(size[0]) + gap
        tall = max(tall, float(size[1]))
