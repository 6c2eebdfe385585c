"""Frames are read as they were stored, and need as much memory as estimated."""

import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.replay.models import Event, Life, lived, lives, make
from vast.replay import Replay, estimate_bytes
from vast.replay.replay import BOOKKEEPING

KINDS: list[tuple[tuple[int, ...], str]] = [((6, 8, 3), "uint8"), ((2,), "float32"), ((), "int16")]


def filled(shape: tuple[int, ...], dtype: str, compressed: bool) -> tuple[Replay, NDArray[Any]]:
    """Return a replay of 10 frames, and the 25 that were stored in it."""
    rng = np.random.default_rng(0)
    frames = (rng.random((25, *shape)) * 200).astype(dtype)
    replay = Replay(10, shape, 2, dtype=dtype, compressed=compressed)
    replay.begin(frames[0], (0.0, 0.0, 0.0))
    for frame in frames[1:]:
        replay.append(0, 0.0, frame)
    return replay, frames


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize(("shape", "dtype"), KINDS)
def test_frames_of_any_kind_are_read_by_their_number(
    shape: tuple[int, ...], dtype: str, compressed: bool
) -> None:
    replay, frames = filled(shape, dtype, compressed)
    assert (replay.oldest, replay.end, len(replay)) == (15, 25, 10)
    numbers = [24, 15, 15, 20]
    read = replay.frames(numbers)
    assert read.dtype == frames.dtype
    np.testing.assert_array_equal(read, frames[numbers])
    read[:] = 0
    np.testing.assert_array_equal(replay.frames(numbers), frames[numbers])


@given(events=lives, k=st.integers(0, 3))
def test_compressed_and_raw_give_the_same(events: list[Event], k: int) -> None:
    raw, packed = (
        lived(Life(make(9, k, compressed=compressed)), [Event("step"), *events]).replay
        for compressed in (False, True)
    )
    for draw in ("sample", "sample_segments"):
        one, two = (getattr(replay, draw)(np.random.default_rng(1), 20) for replay in (raw, packed))
        for left, right in zip(one, two, strict=True):
            np.testing.assert_array_equal(left, right)
    numbers = raw.next_frames(9)
    np.testing.assert_array_equal(packed.next_frames(9), numbers)
    np.testing.assert_array_equal(raw.histories(numbers), packed.histories(numbers))


def test_raw_memory_is_known_exactly() -> None:
    replay, _ = filled((6, 8, 3), "uint8", compressed=False)
    assert estimate_bytes(10, (6, 8, 3)) == 10 * 144
    assert estimate_bytes(500_000, (60, 80, 3)) == 7_200_000_000
    arrays = [*vars(replay._frames._store).values()]
    for part in (replay._episodes, replay._assignments, replay._frames.poses):
        arrays += [value for value in vars(part).values() if isinstance(value, np.ndarray)]
    assert replay.estimate_bytes() == sum(array.nbytes for array in arrays)


def test_compressed_memory_is_bounded_then_measured() -> None:
    rng = np.random.default_rng(0)
    noise = rng.integers(0, 256, (20, 60, 80), np.uint8)  # LZ4 can only make it larger
    for frames, at_most in ((noise, 1.02), (noise // 255, 0.2)):
        replay = Replay(20, (60, 80), 2, compressed=True)
        bound = estimate_bytes(20, (60, 80), compressed=True)
        assert replay.estimate_bytes() == bound + 20 * BOOKKEEPING
        replay.begin(frames[0])
        for frame in frames[1:12]:
            replay.append(0, 0.0, frame)
        half_full = replay.estimate_bytes()
        for frame in [*frames[12:], *frames[:5]]:
            replay.append(0, 0.0, frame)
        blocks = replay._frames._store._blocks  # type: ignore[attr-defined]
        taken = sum(sys.getsizeof(block) for block in blocks) + 20 * 8
        assert replay.estimate_bytes() == taken + 20 * BOOKKEEPING <= bound + 20 * BOOKKEEPING
        assert half_full == pytest.approx(replay.estimate_bytes(), rel=0.05)
        assert taken < at_most * 20 * 60 * 80
