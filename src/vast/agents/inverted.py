"""An inverted file: keys in lists around centroids; a search reads the nearest lists only.

It finds most of the nearest neighbours, not always all. The result depends on the keys, the
centroids and the query alone, not on the order in which keys were added, so that it can be rebuilt
from the keys. The centroids are those of k-means, by faiss (Douze et al. 2024).
"""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from vast.agents.nearest import (
    SLAB,
    Floats,
    Keys,
    Lists,
    Rows,
    add_to_lists,
    move_in_lists,
    search_lists,
)
from vast.extras import importing

with importing("nec", "an inverted file"):
    import faiss

ROUNDS = 10
"""iterations of k-means"""
SAMPLE = 40
"""keys per list that k-means uses: 40 000 in all give the same recall as ten times as many"""
ONE_BY_ONE = 2**31 - 1
"""queries from which on faiss may use matrix products for distances: never"""


class InvertedFile:
    """Rows 0, 1, 2 ... of keys, at most `capacity`, each in the list of its nearest centroid."""

    def __init__(self, centroids: Keys, probes: int, capacity: int) -> None:
        lists, width = centroids.shape
        slabs = capacity // SLAB + lists + 1
        self.probes, self._count = probes, 0
        # The system allocates zeros only when they are first overwritten.
        self._lists = Lists(
            centroids=np.ascontiguousarray(centroids, np.float32),
            keys=np.zeros((slabs, SLAB, width), np.float32),
            rows=np.zeros((slabs, SLAB), np.int64),
            previous=np.zeros(slabs, np.int64),
            tails=np.full(lists, -1),
            sizes=np.zeros(lists, np.int64),
            free=np.concatenate([[slabs], np.arange(slabs)[::-1]]),
            places=np.zeros(capacity, np.int64),
            list_of=np.zeros(capacity, np.int64),
            margins=np.zeros(capacity),
        )

    @property
    def centroids(self) -> Keys:
        """The centroids, [lists, width]."""
        return self._lists.centroids

    def __len__(self) -> int:
        return self._count

    @classmethod
    def trained(cls, keys: Keys, lists: int, probes: int, capacity: int) -> "InvertedFile":
        """Return an empty file with centroids of these keys, the same for the same keys."""
        means = faiss.Clustering(keys.shape[1], lists)
        means.niter, means.seed = ROUNDS, 0
        means.min_points_per_centroid, means.max_points_per_centroid = 1, SAMPLE
        with _repeatable():
            means.train(np.ascontiguousarray(keys), faiss.IndexFlatL2(keys.shape[1]))
        return cls(faiss.vector_to_array(means.centroids).reshape(lists, -1), probes, capacity)

    def add(self, keys: Keys) -> None:
        """Append rows."""
        rows = np.arange(self._count, self._count + len(keys))
        self._count += len(keys)
        add_to_lists(self._lists, rows, np.ascontiguousarray(keys))

    def replace(self, rows: Rows, keys: Keys) -> None:
        """Replace the keys of rows."""
        move_in_lists(self._lists, rows, np.ascontiguousarray(keys))

    def find(self, key: Keys) -> int | None:
        """Return a row with exactly this key, which is in the list of its nearest centroid."""
        row, squared = np.empty((1, 1), np.int64), np.empty((1, 1))
        self.search(np.ascontiguousarray(key[None]), row, squared, probes=1)
        return int(row[0, 0]) if squared[0, 0] == 0 else None

    def search(self, queries: Keys, rows: Rows, squared: Floats, probes: int | None = None) -> None:
        """Write the k nearest keys in the lists read to `rows` and `squared`, [Q, k] each.

        Where these lists hold fewer than k, more are read.
        """
        assert rows.shape[1] <= self._count
        reading = self.probes if probes is None else probes
        search_lists(self._lists, queries, reading, rows, squared)


@contextmanager
def _repeatable() -> Iterator[None]:
    """Let faiss use one thread, and compute each distance in the same way for any batch size.

    Both are settings of the whole process; they are put back.
    """
    threads = faiss.omp_get_max_threads()
    products = faiss.cvar.distance_compute_blas_threshold
    faiss.omp_set_num_threads(1)
    faiss.cvar.distance_compute_blas_threshold = ONE_BY_ONE
    try:
        yield
    finally:
        faiss.omp_set_num_threads(threads)
        faiss.cvar.distance_compute_blas_threshold = products
