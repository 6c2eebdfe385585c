"""Frame numbers: absolute, counted from the beginning, of which the newest are stored."""

from typing import overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

Numbers = NDArray[np.int64]


class Ring:
    """Which frame numbers are stored, and in which slot.

    Numbers never change their meaning, so that a minibatch, a cursor or a checkpoint can name a
    frame and be told when it is gone. All arrays of a replay share one ring and hold frame i in
    slot i mod capacity; the newest frame takes the place of the oldest.
    """

    def __init__(self, capacity: int, end: int = 0) -> None:
        self.capacity = capacity
        self.end = end
        """the number that the next frame will have"""

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
        """Return where frames are kept."""
        return numbers % self.capacity

    def where(self, marked: NDArray[np.bool_]) -> Numbers:
        """Return the numbers, in order, of the frames in the slots marked, of the first `len`."""
        oldest = self.oldest
        return np.sort(oldest + (np.flatnonzero(marked) - oldest) % self.capacity)

    def numbers(self, start: int | None = None) -> Numbers:
        """Return the numbers stored, from `start` on."""
        return np.arange(self.oldest if start is None else start, self.end, dtype=np.int64)

    def stored(self, numbers: ArrayLike) -> Numbers:
        """Return a list of frame numbers as an array; ValueError if one is not stored."""
        array = np.asarray(numbers)
        if array.size == 0:
            array = array.astype(np.int64)
        if array.ndim != 1 or array.dtype.kind not in "iu":
            raise ValueError(
                f"frame numbers of shape {array.shape} and type {array.dtype}: "
                "allowed is a list of integers"
            )
        unknown = (array < self.oldest) | (array >= self.end)
        if unknown.any():
            some = f"{self.oldest} to {self.newest}" if len(self) else "none"
            raise ValueError(f"frame {array[unknown][0]}: stored are {some}")
        return array.astype(np.int64)


def require_count(name: str, count: int | None) -> None:
    """Raise ValueError if a number of things is negative; None is no limit."""
    if count is not None and count < 0:
        raise ValueError(f"{name} {count}: allowed is 0 or more")
