"""Frames, each stored once, raw or compressed."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from vast.replay.ring import Numbers, Ring, require_count
from vast.replay.saved import as_number
from vast.replay.stores import PER_PACKED_FRAME, Packed, Pixels, Raw, Store


def estimate_bytes(
    capacity: int, shape: tuple[int, ...], dtype: DTypeLike = np.uint8, compressed: bool = False
) -> int:
    """Return the bytes that so many frames take: exact if raw, an upper bound if compressed.

    A frame that cannot be compressed grows a little (LZ4's documented worst case).
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    return capacity * (size + size // 255 + 16 + PER_PACKED_FRAME if compressed else size)


class Frames:
    """Frames by their numbers; a frame that the ring no longer counts is overwritten."""

    def __init__(
        self, ring: Ring, shape: tuple[int, ...], dtype: DTypeLike, compressed: bool
    ) -> None:
        self.ring = ring
        self.shape = tuple(shape)
        self.dtype = np.dtype(dtype)
        self.compressed = compressed
        if min(self.shape, default=1) < 1:
            raise ValueError(f"shape {self.shape}: allowed are sizes of 1 or more")
        if self.dtype.kind not in "biuf":
            raise ValueError(f"dtype {self.dtype}: allowed are truth values, integers and floats")
        kind = Packed if compressed else Raw
        self._store: Store = kind(ring.capacity, self.shape, self.dtype)

    def check(self, observation: ArrayLike) -> Pixels:
        """Return an observation as an array; ValueError unless it is of our shape and type."""
        frame = np.asarray(observation)
        if frame.shape != self.shape or frame.dtype != self.dtype:
            raise ValueError(
                f"observation of shape {frame.shape} and type {frame.dtype}: "
                f"allowed is shape {self.shape} and type {self.dtype}"
            )
        return frame

    def write(self, number: int, frame: Pixels) -> None:
        """Store a checked frame."""
        self._store.write(self.ring.slot(number), frame)

    def read(self, numbers: Numbers, blank: NDArray[np.bool_] | None = None) -> Pixels:
        """Return the frames with these numbers, [..., *shape]; zeros where `blank`.

        Numbers must be stored where they are not blank.
        """
        if blank is None:
            blank = np.zeros(numbers.shape, np.bool_)
        slots = self.ring.slot(np.where(blank, self.ring.oldest, numbers))
        frames = self._store.read(slots.ravel()).reshape(*numbers.shape, *self.shape)
        frames[blank] = 0
        return frames

    def estimate_bytes(self) -> int:
        """Return the bytes of a full ring: from the mean size of the frames that are there."""
        stored = len(self.ring)
        if not stored:
            return estimate_bytes(self.ring.capacity, self.shape, self.dtype, self.compressed)
        return self._store.estimate_bytes(stored)

    # --- saving -----------------------------------------------------------------------------------

    def since(self, number: int, limit: int | None = None) -> dict[str, Any]:
        """Return copies of the frames from `number` on, or the oldest stored, up to `limit`."""
        if not 0 <= number <= self.ring.end:
            raise ValueError(f"frame {number}: allowed is 0 to {self.ring.end}")
        require_count("limit", limit)
        numbers = self.ring.numbers(max(number, self.ring.oldest))[:limit]
        first = int(numbers[0]) if len(numbers) else self.ring.end
        return {"frames_first": first, **self._store.pack(self.ring.slot(numbers))}

    def restored(self, ring: Ring, pieces: Iterable[Mapping[str, Any]]) -> "Frames":
        """Return the saved frames of a ring, from pieces of any length; the last of a frame counts.

        Frames outside the ring are passed over: a piece may have outlived some of its frames, or
        be of a moment later than the rest of the checkpoint.
        """
        new = Frames(ring, self.shape, self.dtype, self.compressed)
        found = np.zeros(len(ring), np.bool_)
        for piece in pieces:
            first = as_number(piece, "frames_first")
            end = first + new._store.count(piece)
            low, high = max(first, ring.oldest), min(end, ring.end)
            if low < high:
                numbers = np.arange(low, high, dtype=np.int64)
                new._store.unpack(piece, slice(low - first, high - first), ring.slot(numbers))
                found[low - ring.oldest : high - ring.oldest] = True
        if not found.all():
            missing = ring.oldest + int(found.argmin())
            raise ValueError(f"saved replay: frame {missing} is missing")
        return new
