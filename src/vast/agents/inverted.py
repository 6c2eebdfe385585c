"""An inverted file: keys in lists around centroids; a search reads the nearest lists only.

It finds most of the nearest neighbours, not always all. The result depends on the keys, the
centroids and the query alone, not on the order in which keys were added, so that it can be rebuilt
from the keys. The implementation is that of faiss (Douze et al. 2024).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import faiss
import numpy as np

from vast.agents.neighbours import Keys, Rows

ROUNDS = 10
"""iterations of k-means"""
SAMPLE = 40
"""keys per list that k-means uses: 40 000 in all give the same recall as ten times as many"""
SPARE = 8
"""entries requested beyond k, so that a tie for the last place is rarely unresolved"""
ONE_BY_ONE = 2**31 - 1
"""queries from which on faiss may use matrix products for distances: never"""


class InvertedFile:
    """The rows 0, 1, 2 ... of keys, each in the list of its nearest centroid."""

    def __init__(self, centroids: Keys, probes: int) -> None:
        lists, width = centroids.shape
        self.centroids, self.probes = np.ascontiguousarray(centroids, np.float32), probes
        self._coarse = faiss.IndexFlatL2(width)
        self._coarse.add(self.centroids)
        self._index: Any = faiss.IndexIVFFlat(self._coarse, width, lists)
        self._index.set_direct_map_type(faiss.DirectMap.Array)
        self._slack = (width + 4) * float(np.finfo(np.float32).eps)

    def __len__(self) -> int:
        return int(self._index.ntotal)

    @classmethod
    def trained(cls, keys: Keys, lists: int, probes: int) -> "InvertedFile":
        """Return an empty file with centroids of these keys, the same for the same keys."""
        means = faiss.Clustering(keys.shape[1], lists)
        means.niter, means.seed = ROUNDS, 0
        means.min_points_per_centroid, means.max_points_per_centroid = 1, SAMPLE
        with _repeatable():
            means.train(np.ascontiguousarray(keys), faiss.IndexFlatL2(keys.shape[1]))
        return cls(faiss.vector_to_array(means.centroids).reshape(lists, -1), probes)

    def add(self, keys: Keys) -> None:
        """Append rows."""
        with _repeatable():
            self._index.add(np.ascontiguousarray(keys))

    def replace(self, rows: Rows, keys: Keys) -> None:
        """Replace the keys of rows."""
        with _repeatable():
            self._index.update_vectors(rows, np.ascontiguousarray(keys))

    def candidates(self, queries: Keys, k: int) -> list[Rows]:
        """Return, for each query, rows that contain the k nearest of those in the lists probed.

        Where these lists hold fewer than k, more are probed.
        """
        assert k <= len(self)
        found: list[Rows] = [np.zeros(0, np.int64)] * len(queries)
        with _repeatable():
            self._search(queries, np.arange(len(queries)), k, k + SPARE, self.probes, found)
        return found

    def _search(
        self, queries: Keys, which: Rows, k: int, n: int, probes: int, found: list[Rows]
    ) -> None:
        """Find the n nearest of some queries; search again if there are too few, or a tie."""
        n = min(n, len(self))
        squared, rows = self._index.search(
            queries[which], n, params=faiss.SearchParametersIVF(nprobe=probes)
        )
        few = rows[:, k - 1] < 0
        # Entries not returned are as far as the last one, or farther, but for rounding.
        kth, last = squared[:, k - 1].astype(np.float64), squared[:, -1].astype(np.float64)
        nearer = kth * (1 + self._slack) < last * (1 - self._slack)
        settled = ~few & (nearer | (rows[:, -1] < 0) | (n == len(self)))
        for i in np.flatnonzero(settled).tolist():
            found[which[i]] = rows[i][rows[i] >= 0]
        if few.any():
            more = min(2 * probes, len(self.centroids))
            self._search(queries, which[few], k, n, more, found)
        if (tied := ~few & ~settled).any():
            self._search(queries, which[tied], k, 2 * n, probes, found)


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
