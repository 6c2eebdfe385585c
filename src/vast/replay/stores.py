"""Two ways to store frames: raw, or compressed."""

import math
import sys
from collections.abc import Mapping
from typing import Any, Protocol

import lz4.block
import numpy as np
from numpy.typing import NDArray

from vast.errors import UserError
from vast.replay.ring import Numbers
from vast.replay.state_checks import as_array, as_number

Pixels = NDArray[Any]

PER_COMPRESSED_FRAME = sys.getsizeof(b"") + 8
"""bytes that Python needs for a bytes object and a reference to it"""


ABSENT = "frames_absent"
"""how many frames were left out of a piece"""
PACKED = ("frames_raw", "frames_lz4", "frames_lengths")


class Store(Protocol):
    """Stores frames by slot."""

    def write(self, slot: int, frame: Pixels) -> None:
        """Store a frame."""

    def read(self, slots: Numbers) -> Pixels:
        """Return copies of the frames in these slots."""

    def pack(self, slots: Numbers) -> dict[str, Pixels]:
        """Return the frames in these slots as plain arrays."""

    def count(self, packed: Mapping[str, Any]) -> int:
        """Return how many frames were packed; ValueError if this store cannot hold them."""

    def unpack(self, packed: Mapping[str, Any], keep: slice, slots: Numbers) -> None:
        """Store the part `keep` of packed frames."""

    def estimate_bytes(self, stored: int) -> int:
        """Return the size of a full store in bytes, extrapolated from the `stored` frames in it."""


class RawStore:
    """Frames as one array; the system allocates its pages when they are first written."""

    def __init__(self, capacity: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self._frames = np.zeros((capacity, *shape), dtype)

    def write(self, slot: int, frame: Pixels) -> None:
        """Store a frame."""
        self._frames[slot] = frame

    def read(self, slots: Numbers) -> Pixels:
        """Return copies of the frames in these slots."""
        return self._frames[slots]

    def pack(self, slots: Numbers) -> dict[str, Pixels]:
        """Return the frames in these slots as plain arrays."""
        return {"frames_raw": self._frames[slots]}

    def count(self, packed: Mapping[str, Any]) -> int:
        """Return how many frames were packed; ValueError if this store cannot hold them."""
        frames = as_array(packed, "frames_raw", self._frames.dtype)
        if frames.shape[1:] != self._frames.shape[1:]:
            raise ValueError(
                f"saved replay: frames must be of shape {self._frames.shape[1:]}, "
                f"got {frames.shape[1:]}"
            )
        return len(frames)

    def unpack(self, packed: Mapping[str, Any], keep: slice, slots: Numbers) -> None:
        """Store the part `keep` of packed frames."""
        self._frames[slots] = packed["frames_raw"][keep]

    def estimate_bytes(self, stored: int) -> int:
        """Return the size of a full store in bytes, extrapolated from the `stored` frames in it."""
        return self._frames.nbytes


class CompressedStore:
    """Frames compressed one by one, so that each can be read and evicted separately."""

    def __init__(self, capacity: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self._shape, self._dtype = shape, dtype
        self._size = math.prod(shape) * dtype.itemsize
        self._blocks = [b""] * capacity
        self._used = 0

    def write(self, slot: int, frame: Pixels) -> None:
        """Store a frame."""
        self._put(slot, lz4.block.compress(frame.tobytes(), store_size=False))

    def read(self, slots: Numbers) -> Pixels:
        """Return copies of the frames in these slots."""
        # Histories overlap: a frame that is requested several times is decompressed once.
        distinct, where = np.unique(slots, return_inverse=True)
        frames = np.empty((len(distinct), *self._shape), self._dtype)
        for frame, slot in enumerate(distinct.tolist()):
            block = lz4.block.decompress(self._blocks[slot], uncompressed_size=self._size)
            frames[frame] = np.frombuffer(block, self._dtype).reshape(self._shape)
        return frames[where]

    def pack(self, slots: Numbers) -> dict[str, Pixels]:
        """Return the frames in these slots as plain arrays."""
        blocks = [self._blocks[slot] for slot in slots.tolist()]
        lengths = np.array([len(block) for block in blocks], np.int64)
        return {
            "frames_lz4": np.frombuffer(b"".join(blocks), np.uint8).copy(),
            "frames_lengths": lengths,
        }

    def count(self, packed: Mapping[str, Any]) -> int:
        """Return how many frames were packed; ValueError if this store cannot hold them."""
        data = as_array(packed, "frames_lz4", np.dtype(np.uint8))
        lengths = as_array(packed, "frames_lengths", np.dtype(np.int64))
        # Each length is checked as well: their sum could overflow to the right value.
        within = (
            lengths.ndim == data.ndim == 1 and not ((lengths < 1) | (lengths > data.size)).any()
        )
        if not within or lengths.sum() != data.size:
            raise ValueError("saved replay: frames_lengths contradict frames_lz4")
        return len(lengths)

    def unpack(self, packed: Mapping[str, Any], keep: slice, slots: Numbers) -> None:
        """Store the part `keep` of packed frames."""
        ends = packed["frames_lengths"].cumsum()[keep].tolist()
        lengths = packed["frames_lengths"][keep].tolist()
        for slot, end, length in zip(slots.tolist(), ends, lengths, strict=True):
            block = packed["frames_lz4"][end - length : end].tobytes()
            try:
                size = len(lz4.block.decompress(block, uncompressed_size=self._size))
            except lz4.block.LZ4BlockError:
                size = -1
            if size != self._size:
                raise ValueError("saved replay: a compressed frame is damaged")
            self._put(slot, block)

    def estimate_bytes(self, stored: int) -> int:
        """Return the size of a full store in bytes, extrapolated from the `stored` frames in it."""
        capacity = len(self._blocks)
        return capacity * PER_COMPRESSED_FRAME + math.ceil(self._used * capacity / stored)

    def _put(self, slot: int, block: bytes) -> None:
        self._used += len(block) - len(self._blocks[slot])
        self._blocks[slot] = block


class AbsentStore:
    """In place of frames that were left out: how many there were is known, and no more."""

    def write(self, slot: int, frame: Pixels) -> None:
        """Refuse: what was learned from the other frames could not be revised."""
        raise absent_frames("to learn")

    def read(self, slots: Numbers) -> Pixels:
        """Refuse."""
        raise absent_frames("to look at them")

    def pack(self, slots: Numbers) -> dict[str, Pixels]:
        """Return how many there are."""
        return {ABSENT: np.array(len(slots), np.int64)}

    def count(self, packed: Mapping[str, Any]) -> int:
        """Return how many frames were left out."""
        return as_number(packed, ABSENT)

    def unpack(self, packed: Mapping[str, Any], keep: slice, slots: Numbers) -> None:
        """Do nothing."""

    def estimate_bytes(self, stored: int) -> int:
        """Return 0."""
        return 0


def absent_frames(why: str) -> UserError:
    """Return the error of what needs frames that were left out."""
    return UserError(
        f"{why}, an agent needs its frames, which were left out when it was exported: "
        "use `vast export --with-replay`"
    )


def without_pixels(piece: Mapping[str, Any], count: int) -> dict[str, Any]:
    """Return a piece of frames without the frames; their poses stay."""
    kept = {name: value for name, value in piece.items() if name not in PACKED}
    return {**kept, ABSENT: np.array(count, np.int64)}
