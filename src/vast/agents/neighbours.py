"""A memory of keys and values that grows and changes, with nearest-neighbour search.

The search is exact. One matrix product per block of keys estimates the distances of a query to all
keys in single precision. The keys that may be among the nearest, given the rounding error of the
product, are then compared in double precision. So the result equals a comparison with every key.

In a large memory an inverted file can choose the keys that are compared, as an option.
"""

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vast.errors import UserError

if TYPE_CHECKING:
    from vast.agents.inverted import InvertedFile

Keys = NDArray[np.float32]
Rows = NDArray[np.int64]

LARGEST = 1e18
"""the size of the largest number in a key: squares of larger ones have no room in 32 bits"""
BLOCK = 16_384
"""keys from which candidates are chosen at once"""
CHUNK = 1024
"""keys in one matrix product, so that they and the products stay in the cache"""


class InvertedSearch(NamedTuple):
    """How to search with an inverted file."""

    start: int
    """entries from which on it is used; these entries give the centroids"""
    lists: int
    """centroids"""
    probes: int
    """lists read by a search"""


class Neighbours(NamedTuple):
    """The nearest entries of each query, the nearest first; of equally near ones, lower rows."""

    rows: Rows
    """[Q, k]"""
    squared: NDArray[np.float64]
    """[Q, k], their squared Euclidean distances"""


class KeyValueMemory:
    """Entries of a key and a value; a full memory replaces the least recently used one.

    Writing or touching an entry uses it; searching does not.
    """

    def __init__(self, capacity: int, width: int, inverted: InvertedSearch | None = None) -> None:
        self.capacity, self.width, self.inverted = capacity, width, inverted
        self._count = 0
        self._clock = 0
        # The system allocates zeros only when they are first overwritten.
        self._keys: Keys = np.zeros((capacity, width), np.float32)
        self._norms = np.zeros(capacity, np.float32)
        self._values = np.zeros(capacity)
        self._used = np.zeros(capacity, np.int64)
        self._largest = 0.0
        self._names: list[bytes] = []
        self._row_of: dict[bytes, int] = {}
        self._index: InvertedFile | None = None

    def __len__(self) -> int:
        return self._count

    # --- reading ----------------------------------------------------------------------------------

    def keys(self, rows: ArrayLike) -> Keys:
        """Return copies of the keys in these rows."""
        return self._keys[np.asarray(rows, np.int64)]

    def values(self, rows: ArrayLike) -> NDArray[np.float64]:
        """Return copies of the values in these rows."""
        return self._values[np.asarray(rows, np.int64)]

    def find(self, key: Keys) -> int | None:
        """Return the row of exactly this key; None if there is none."""
        return self._row_of.get(_names(key, 1)[0])

    def nearest(self, queries: Keys, k: int) -> Neighbours:
        """Return the k nearest entries of each of [Q, width] queries, or all if there are fewer."""
        queries = np.ascontiguousarray(queries, np.float32)
        if queries.ndim != 2 or queries.shape[1] != self.width:
            raise ValueError(f"queries must have shape [Q, {self.width}], got {queries.shape}")
        if not (np.abs(queries) <= LARGEST).all():
            raise UserError(f"keys must be at most {LARGEST:g} in size: scale the observations")
        k = min(k, self._count)
        rows = np.empty((len(queries), k), np.int64)
        squared = np.empty((len(queries), k))
        if k == 0:
            return Neighbours(rows, squared)
        search = self._candidates if self._index is None else self._index.candidates
        for i, candidates in enumerate(search(queries, k)):
            difference = self._keys[candidates].astype(np.float64) - queries[i]
            exact = np.einsum("cw,cw->c", difference, difference)
            order = np.lexsort((candidates, exact))[:k]
            rows[i], squared[i] = candidates[order], exact[order]
        return Neighbours(rows, squared)

    def _candidates(self, queries: Keys, k: int) -> list[Rows]:
        """Return, for each query, the rows that may be among its k nearest.

        Scores are |key|^2 - 2 key . query. Each is wrong by less than `slack`, so that an entry
        whose score is above the k-th smallest by more than twice of it is farther than k others.
        """
        size = np.sqrt(np.einsum("qw,qw->q", queries, queries, dtype=np.float64))
        epsilon = np.finfo(np.float32).eps
        longest = np.sqrt(self._largest)
        slack = (self.width + 4) * epsilon * (self._largest + 2 * longest * size)
        bound = np.full(len(queries), np.inf, np.float32)
        kept: list[list[tuple[Rows, Keys]]] = [[] for _ in queries]
        doubled = np.ascontiguousarray((-2 * queries).T)
        for start in range(0, self._count, BLOCK):
            scores = self._scores(doubled, start, min(start + BLOCK, self._count))
            for i in np.flatnonzero(scores.min(axis=1) <= bound).tolist():
                near = np.flatnonzero(scores[i] <= bound[i])
                kept[i].append((start + near, scores[i, near]))
                bound[i] = self._tightened(kept[i], k, slack[i], bound[i])
        return [np.concatenate([rows for rows, _ in pieces]) for pieces in kept]

    def _scores(self, doubled: Keys, start: int, stop: int) -> Keys:
        """Return |key|^2 - 2 key . query for each query and each key of a block, [Q, B]."""
        scores = np.empty((doubled.shape[1], stop - start), np.float32)
        for low in range(start, stop, CHUNK):
            high = min(low + CHUNK, stop)
            products = self._keys[low:high] @ doubled
            products += self._norms[low:high, None]
            scores[:, low - start : high - start] = products.T
        return scores

    @staticmethod
    def _tightened(
        pieces: list[tuple[Rows, Keys]], k: int, slack: float, bound: np.float32
    ) -> np.float32:
        """Drop candidates that cannot be among the k nearest, and return the new bound."""
        rows = np.concatenate([rows for rows, _ in pieces])
        scores = np.concatenate([scores for _, scores in pieces])
        if len(scores) > k:
            kth = np.partition(scores, k - 1)[k - 1]
            bound = np.nextafter(np.float32(kth + 2 * slack), np.float32(np.inf))
            near = scores <= bound
            rows, scores = rows[near], scores[near]
        pieces[:] = [(rows, scores)]
        return bound

    # --- writing ----------------------------------------------------------------------------------

    def add(self, key: Keys, value: float) -> int:
        """Write a new entry, which the very next search finds; return its row."""
        row = self._count
        if row == self.capacity:
            row = int(self._used.argmin())
            self.move([row], key[None])
        else:
            self._names.append(b"")
            self._put([row], key[None])
            self._count += 1
            self._grown()
        self._values[row] = value
        self.touch([row])
        return row

    def set_values(self, rows: ArrayLike, values: ArrayLike) -> None:
        """Set the values of entries."""
        self._values[np.asarray(rows, np.int64)] = values

    def move(self, rows: ArrayLike, keys: Keys) -> None:
        """Set the keys of entries."""
        moved: list[int] = np.asarray(rows, np.int64).tolist()
        for row in moved:
            if self._row_of.get(self._names[row]) == row:
                del self._row_of[self._names[row]]
        self._put(moved, keys)
        if self._index is not None:
            self._index.replace(np.array(moved, np.int64), self._keys[moved])

    def touch(self, rows: ArrayLike) -> None:
        """Mark entries as used, the last of them most recently."""
        rows = np.asarray(rows, np.int64)
        self._used[rows] = self._clock + np.arange(len(rows))
        self._clock += len(rows)

    def _put(self, rows: Sequence[int], keys: Keys) -> None:
        norms = np.einsum("nw,nw->n", keys, keys, dtype=np.float64)
        self._keys[rows], self._norms[rows] = keys, norms
        self._largest = max(self._largest, float(norms.max(initial=0.0)))
        for row, name in zip(rows, _names(keys, len(keys)), strict=True):
            self._names[row] = name
            self._row_of[name] = row

    def _grown(self, centroids: Keys | None = None) -> None:
        """Add new rows to the inverted file, and create it when the memory is large enough."""
        if self.inverted is None or self._count < self.inverted.start:
            return
        from vast.agents.inverted import InvertedFile  # takes a while, and few memories need it

        _, lists, probes = self.inverted
        if self._index is None:
            if centroids is None:
                self._index = InvertedFile.trained(self._keys[: self._count], lists, probes)
            else:
                self._index = InvertedFile(centroids, probes)
        self._index.add(self._keys[len(self._index) : self._count])

    # --- saving -----------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Return all entries, the order of their use, and the centroids if there are any."""
        n = self._count
        return {
            "keys": self._keys[:n].copy(),
            "values": self._values[:n].copy(),
            "used": self._used[:n].copy(),
            "clock": self._clock,
            "centroids": None if self._index is None else self._index.centroids.copy(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a saved memory; ValueError, and nothing changed, if it does not fit."""
        keys, values, used = (np.asarray(state[name]) for name in ("keys", "values", "used"))
        n = len(keys)
        if keys.shape != (n, self.width) or n > self.capacity or keys.dtype != np.float32:
            raise ValueError(
                f"saved memory: keys must be float32[at most {self.capacity}, {self.width}], "
                f"got {keys.dtype}{list(keys.shape)}"
            )
        if values.shape != (n,) or used.shape != (n,) or used.dtype != np.int64:
            raise ValueError("saved memory: values or used do not fit keys")
        centroids = self._fitting(state.get("centroids"))
        new = KeyValueMemory(self.capacity, self.width, self.inverted)
        new._count, new._clock = n, int(state["clock"])
        new._values[:n], new._used[:n] = values, used
        new._names = [b""] * n
        new._put(range(n), keys)
        new._grown(centroids)
        self.__dict__.update(new.__dict__)

    def _fitting(self, centroids: Any) -> Keys | None:
        """Return saved centroids; None if there are none, or the number of lists differs."""
        if centroids is None or self.inverted is None:
            return None
        saved = np.asarray(centroids)
        if saved.ndim != 2 or saved.shape[1] != self.width or saved.dtype != np.float32:
            raise ValueError(
                f"saved memory: centroids must be float32[n, {self.width}], "
                f"got {saved.dtype}{list(saved.shape)}"
            )
        return saved if len(saved) == self.inverted.lists else None


def _names(keys: Keys, n: int) -> list[bytes]:
    """Return hashes that tell n keys apart, smaller than the keys."""
    # Adding 0 makes the negative zero a positive one: equal keys have equal bytes.
    data = (keys + np.float32(0)).tobytes()
    size = len(data) // max(n, 1)
    return [blake2b(data[i * size : (i + 1) * size], digest_size=16).digest() for i in range(n)]
