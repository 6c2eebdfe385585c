"""Frame numbers: absolute, counted from 0; the frames with the highest numbers are stored."""

from typing import overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

Numbers = NDArray[np.int64]


class Ring:
    """Which frame numbers are stored, and in which slot.

    A number always means the same frame, so a number in a minibatch, cursor or checkpoint remains
    valid, and an evicted frame is recognized. All arrays of a replay share one ring and store frame
    i in slot i mod capacity; the newest frame overwrites the oldest.
    """

    def __init__(self, capacity: int, end: int = 0) -> None:
        self.capacity = capacity
        self.end = end
        """the number of the next frame"""

    @property
    def oldest(self) -> int:
        """The smallest number stored; equal to `end` if none is."""
        return max(0, self.end - self.capacity)

    @property
    def newest(self) -> int:
        """The largest number stored."""
        return self.end - 1

    @property
    def is_full(self) -> bool:
        """Whether the next frame evicts the oldest."""
        return len(self) == self.capacity

    def __len__(self) -> int:
        return self.end - self.oldest

    @overload
    def slot(self, numbers: int) -> int: ...
    @overload
    def slot(self, numbers: Numbers) -> Numbers: ...
    def slot(self, numbers: int | Numbers) -> int | Numbers:
        """Return the slots of frames."""
        return numbers % self.capacity

    def where(self, marked: NDArray[np.bool_]) -> Numbers:
        """Return the numbers of the frames in the marked slots, in order."""
        oldest = self.oldest
        return np.sort(oldest + (np.flatnonzero(marked) - oldest) % self.capacity)

    def numbers(self, start: int | None = None) -> Numbers:
        """Return the numbers of all stored frames, or of those from `start` on."""
        return np.arange(self.oldest if start is None else start, self.end, dtype=np.int64)

    def stored(self, numbers: ArrayLike) -> Numbers:
        """Return a list of frame numbers as an array; ValueError if one is not stored."""
        array = np.asarray(numbers)
        if array.size == 0:
            array = array.astype(np.int64)
        if array.ndim != 1 or array.dtype.kind not in "iu":
            raise ValueError(
                "frame numbers must be a list of integers, "
                f"got shape {array.shape} and type {array.dtype}"
            )
        unknown = (array < self.oldest) | (array >= self.end)
        if unknown.any():
            wrong = array[unknown][0]
            if not len(self):
                raise ValueError(f"frame must be stored, got {wrong}: the replay is empty")
            raise ValueError(
                f"frame must be stored, between {self.oldest} and {self.newest}, got {wrong}"
            )
        return array.astype(np.int64)


def require_count(name: str, count: int | None) -> None:
    """Raise ValueError if a count is negative; None means no limit."""
    if count is not None and count < 0:
        raise ValueError(f"{name} must be 0 or more, got {count}")
