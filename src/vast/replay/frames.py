"""Frames, each stored once, raw or compressed, with their poses."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from vast.replay.poses import Pose, Poses
from vast.replay.ring import Numbers, Ring, require_count
from vast.replay.state_checks import as_number
from vast.replay.stores import (
    ABSENT,
    PER_COMPRESSED_FRAME,
    AbsentStore,
    CompressedStore,
    Pixels,
    RawStore,
    Store,
)


def estimate_bytes(
    capacity: int, shape: tuple[int, ...], dtype: DTypeLike = np.uint8, compressed: bool = False
) -> int:
    """Return the size of this many frames in bytes: exact if raw, an upper bound if compressed.

    A frame that cannot be compressed grows a little (LZ4's documented worst case).
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    return capacity * (size + size // 255 + 16 + PER_COMPRESSED_FRAME if compressed else size)


class Frames:
    """Frames by their numbers; a new frame overwrites the evicted one in its slot."""

    def __init__(
        self, ring: Ring, shape: tuple[int, ...], dtype: DTypeLike, compressed: bool
    ) -> None:
        self.ring = ring
        self.shape = tuple(shape)
        self.dtype = np.dtype(dtype)
        self.compressed = compressed
        if min(self.shape, default=1) < 1:
            raise ValueError(f"shape must have sizes of 1 or more, got {self.shape}")
        if self.dtype.kind not in "biuf":
            raise ValueError(f"dtype must be boolean, integer or float, got {self.dtype}")
        kind = CompressedStore if compressed else RawStore
        self._store: Store = kind(ring.capacity, self.shape, self.dtype)
        self.poses = Poses(ring)

    @property
    def are_here(self) -> bool:
        """Whether frames can be read; they may have been left out of a file."""
        return not isinstance(self._store, AbsentStore)

    def check(self, observation: ArrayLike) -> Pixels:
        """Return an observation as an array; ValueError if its shape or type is wrong."""
        frame = np.asarray(observation)
        if frame.shape != self.shape or frame.dtype != self.dtype:
            raise ValueError(
                f"observation must be of shape {self.shape} and type {self.dtype}, "
                f"got shape {frame.shape} and type {frame.dtype}"
            )
        return frame

    def write(self, number: int, frame: Pixels, pose: Pose | None) -> None:
        """Store a checked frame and its pose."""
        self._store.write(self.ring.slot(number), frame)
        self.poses.write(number, pose)

    def read(self, numbers: Numbers, blank: NDArray[np.bool_] | None = None) -> Pixels:
        """Return the frames with these numbers, [..., *shape]; zeros where `blank`.

        Frames that are not blank must be stored.
        """
        if blank is None:
            blank = np.zeros(numbers.shape, np.bool_)
        slots = self.ring.slot(np.where(blank, self.ring.oldest, numbers))
        frames = self._store.read(slots.ravel()).reshape(*numbers.shape, *self.shape)
        frames[blank] = 0
        return frames

    def estimate_bytes(self) -> int:
        """Return the size of a full ring in bytes, from the mean size of the stored frames."""
        stored = len(self.ring)
        if not stored:
            return estimate_bytes(self.ring.capacity, self.shape, self.dtype, self.compressed)
        return self._store.estimate_bytes(stored)

    # --- saving -----------------------------------------------------------------------------------

    def since(self, number: int, limit: int | None = None) -> dict[str, Any]:
        """Return copies of up to `limit` frames, from `number` or the oldest stored on."""
        if not 0 <= number <= self.ring.end:
            raise ValueError(f"frame must be between 0 and {self.ring.end}, got {number}")
        require_count("limit", limit)
        numbers = self.ring.numbers(max(number, self.ring.oldest))[:limit]
        first = int(numbers[0]) if len(numbers) else self.ring.end
        frames = self._store.pack(self.ring.slot(numbers))
        return {"frames_first": first, **frames, **self.poses.pack(numbers)}

    def restored(self, ring: Ring, pieces: Iterable[Mapping[str, Any]]) -> "Frames":
        """Return the saved frames of a ring, from pieces of any length.

        If pieces overlap, the last one counts. Frames outside the ring are skipped: some frames of
        a piece may have been evicted since, or a piece may be newer than the rest of the
        checkpoint.
        """
        new = Frames(ring, self.shape, self.dtype, self.compressed)
        found = np.zeros(len(ring), np.bool_)
        for piece in pieces:
            if ABSENT in piece:
                new._store = AbsentStore()
            first = as_number(piece, "frames_first")
            count = new._store.count(piece)
            low, high = max(first, ring.oldest), min(first + count, ring.end)
            if low < high:
                numbers = np.arange(low, high, dtype=np.int64)
                keep = slice(low - first, high - first)
                new._store.unpack(piece, keep, ring.slot(numbers))
                new.poses.unpack(piece, keep, numbers, count)
                found[low - ring.oldest : high - ring.oldest] = True
        if not found.all():
            missing = ring.oldest + int(found.argmin())
            raise ValueError(f"saved replay: frame {missing} is missing")
        return new
