"""A memory of keys and values that grows and changes, with nearest-neighbour search.

The search is exact: its result equals a comparison with every key in double precision. In a large
memory an inverted file can choose the keys that are compared, as an option.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vast.agents.config import InvertedSearch
from vast.agents.nearest import Keys, Rows, search_all
from vast.errors import UserError

if TYPE_CHECKING:
    from vast.agents.inverted import InvertedFile

LARGEST = 1e18
"""the size of the largest number in a key: squares of larger ones have no room in 32 bits"""


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
        self._values = np.zeros(capacity)
        self._used = np.zeros(capacity, np.int64)
        self._hashes = np.zeros(capacity, np.uint32)
        """of the keys, as long as there is no index"""
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
        if self._index is not None:
            return self._index.find(key)
        same = np.flatnonzero(self._hashes[: self._count] == _hashes(key[None]))
        return next((row for row in same.tolist() if (self._keys[row] == key).all()), None)

    def nearest(self, queries: Keys, k: int) -> Neighbours:
        """Return the k nearest entries of each of [Q, width] queries, or all if there are fewer."""
        queries = np.ascontiguousarray(queries, np.float32)
        if queries.ndim != 2 or queries.shape[1] != self.width:
            raise ValueError(f"queries must have shape [Q, {self.width}], got {queries.shape}")
        if not (np.abs(queries) <= LARGEST).all():
            raise UserError(f"keys must be at most {LARGEST:g} in size: scale the observations")
        k = min(k, self._count)
        found = Neighbours(np.empty((len(queries), k), np.int64), np.empty((len(queries), k)))
        if k == 0:
            return found
        if self._index is None:
            search_all(self._keys[: self._count], queries, *found)
        else:
            self._index.search(queries, *found)
        return found

    # --- writing ----------------------------------------------------------------------------------

    def add(self, key: Keys, value: float) -> int:
        """Write a new entry, which the very next search finds; return its row."""
        row = self._count
        if row == self.capacity:
            row = int(self._used.argmin())
            self.move([row], key[None])
        else:
            self._put(np.array([row]), key[None])
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
        moved = np.asarray(rows, np.int64)
        self._put(moved, keys)
        if self._index is not None:
            self._index.replace(moved, self._keys[moved])

    def touch(self, rows: ArrayLike) -> None:
        """Mark entries as used, the last of them most recently."""
        rows = np.asarray(rows, np.int64)
        self._used[rows] = self._clock + np.arange(len(rows))
        self._clock += len(rows)

    def _put(self, rows: Rows, keys: Keys) -> None:
        self._keys[rows] = keys
        if self._index is None:
            self._hashes[rows] = _hashes(keys)

    def _grown(self, centroids: Keys | None = None) -> None:
        """Add new rows to the inverted file, and create it when the memory is large enough."""
        if self.inverted is None or self._count < self.inverted.start:
            return
        from vast.agents.inverted import InvertedFile  # takes a while, and few memories need it

        _, lists, probes = self.inverted
        if self._index is None:
            if centroids is None:
                self._index = InvertedFile.trained(
                    self._keys[: self._count], lists, probes, self.capacity
                )
            else:
                self._index = InvertedFile(centroids, probes, self.capacity)
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
        new._put(np.arange(n), keys)
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


def _hashes(keys: Keys) -> NDArray[np.uint32]:
    """Return a hash of each of [N, width] keys: equal for equal keys, hardly ever for others."""
    # Adding 0 makes the negative zero a positive one: equal keys have equal bits.
    words = (keys + np.float32(0)).view(np.uint32).astype(np.uint64)
    first, second = _multipliers(keys.shape[1])
    words *= first
    words ^= words >> np.uint64(32)
    words *= second
    found: NDArray[np.uint32] = (words.sum(1) >> np.uint64(32)).astype(np.uint32)
    return found


@lru_cache
def _multipliers(width: int) -> NDArray[np.uint64]:
    """Return odd numbers that give each entry of a key another weight in its hash, [2, width]."""
    return np.random.default_rng(0).integers(2**63, size=(2, width), dtype=np.uint64) * 2 + 1
