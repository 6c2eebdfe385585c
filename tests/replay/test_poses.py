"""Poses are stored beside frames: evicted, saved and loaded with them, and never sampled."""

import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.replay.models import Event, Life, lived, lives, make, picture
from tests.replay.test_saving import snapshot, through_a_file
from vast.replay import Replay

UNKNOWN = [np.nan] * 3


def stored(replay: Replay) -> list[int]:
    return list(range(replay.oldest, replay.end))


@given(events=lives, capacity=st.integers(2, 12), compressed=st.booleans(), poses=st.booleans())
def test_the_newest_frames_have_the_poses_given_with_them(
    events: list[Event], capacity: int, compressed: bool, poses: bool
) -> None:
    life = Life(make(capacity, compressed=compressed), poses=poses)
    for event in events:
        life.do(event)
        read = life.replay.poses(stored(life.replay))
        assert read.dtype == np.float64
        np.testing.assert_array_equal(read, life.expected_poses())
    read[:] = 7.0
    np.testing.assert_array_equal(
        life.replay.poses(stored(life.replay)), life.expected_poses()
    )  # what was read is a copy


@given(
    parts=st.lists(lives, min_size=1, max_size=3),
    compressed=st.booleans(),
    limit=st.integers(1, 5),
    poses=st.lists(st.booleans(), min_size=3, max_size=3),
)
def test_poses_are_resumed_from_pieces(
    parts: list[list[Event]], compressed: bool, limit: int, poses: list[bool]
) -> None:
    life = Life(make(9, 1, compressed=compressed))
    pieces: list[dict[str, Any]] = []
    saved = 0
    for part, life.poses in zip(parts, poses, strict=False):
        lived(life, part)
        while saved < life.replay.end:
            piece = life.replay.frames_since(saved, limit)
            pieces.append(through_a_file(piece))
            saved = int(piece["frames_first"]) + len(
                piece["frames_lengths" if compressed else "frames_raw"]
            )
        copy = make(9, 1, compressed=compressed)
        copy.load_state_dict(life.replay.state_dict(frames=False), iter(pieces))
        np.testing.assert_array_equal(copy.poses(stored(copy)), life.expected_poses())
        assert snapshot(copy) == snapshot(life.replay)


@given(events=lives, compressed=st.booleans(), limit=st.integers(1, 9))
def test_a_piece_of_an_older_version_has_unknown_poses(
    events: list[Event], compressed: bool, limit: int
) -> None:
    life = lived(Life(make(9, compressed=compressed)), [Event("step")] * 9 + events)
    old = life.replay.frames_since(life.oldest, limit)
    old.pop("frames_poses", None)
    pieces = [life.replay.frames_since(life.oldest), old]
    copy = make(9, compressed=compressed)
    copy.load_state_dict(life.replay.state_dict(frames=False), pieces)
    wanted = life.expected_poses()
    wanted[:limit] = np.nan  # the last piece of a frame counts, with or without a pose
    np.testing.assert_array_equal(copy.poses(stored(copy)), wanted)
    np.testing.assert_array_equal(copy.frames(stored(copy)), life.replay.frames(stored(copy)))


@pytest.mark.parametrize("compressed", [False, True])
def test_poses_that_contradict_the_frames_are_refused_and_change_nothing(compressed: bool) -> None:
    life = lived(Life(make(9, compressed=compressed)), [Event("step")] * 12)
    saved = life.replay.state_dict()
    poses = saved["frames_poses"]
    for wrong in (poses[:-1], poses[:, :2], poses.astype(np.float32), poses.ravel(), None):
        copy = lived(Life(make(9, compressed=compressed)), [Event("step")] * 3).replay
        before = snapshot(copy)
        with pytest.raises(ValueError, match="saved replay: frames_poses") as error:
            copy.load_state_dict(saved | {"frames_poses": wrong})
        assert "\n" not in str(error.value)
        assert snapshot(copy) == before


def test_poses_may_be_integers_arrays_or_partly_unknown() -> None:
    replay = make()
    replay.begin(picture(0), (1, 2, 3))
    replay.append(0, 0.0, picture(1), np.array([0.5, -1.0, np.nan], np.float32))  # type: ignore[arg-type]
    replay.append(0, 0.0, picture(2))
    np.testing.assert_array_equal(
        replay.poses([0, 1, 2, 0]), [(1, 2, 3), (0.5, -1, np.nan), UNKNOWN, (1, 2, 3)]
    )
    assert replay.poses([]).shape == (0, 3)


def test_a_replay_without_poses_saves_none_and_takes_no_memory_for_them() -> None:
    tracemalloc.start()
    replay = Replay(1_000_000, (), 2)
    replay.begin(np.uint8(0))
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(100):
        replay.append(0, 0.0, np.uint8(0))
    assert tracemalloc.get_traced_memory()[0] - before < 10_000
    assert "frames_poses" not in replay.state_dict()
    replay.append(0, 0.0, np.uint8(0), (1.0, 2.0, 3.0))
    used = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert used == pytest.approx(24_000_000, abs=10_000)
    np.testing.assert_array_equal(replay.poses([100, 101]), [UNKNOWN, (1, 2, 3)])
