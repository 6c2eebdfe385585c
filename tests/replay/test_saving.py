"""A loaded replay continues exactly where it was saved, and a damaged one is refused."""

import io
from typing import Any

import lz4.block
import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from tests.planning.models import assert_counts
from tests.replay.models import N_ACTIONS, Event, Life, lived, lives, make, random_life
from vast.planning import TransitionTable
from vast.replay import Replay
from vast.replay.episodes import Fate


def through_a_file(state: dict[str, Any]) -> dict[str, Any]:
    file = io.BytesIO()
    np.savez(file, **state)
    file.seek(0)
    with np.load(file, allow_pickle=False) as archive:
        return dict(archive)


def snapshot(replay: Replay) -> dict[str, bytes]:
    return {name: np.asarray(value).tobytes() for name, value in replay.state_dict().items()}


def seen(replay: Replay, seed: int) -> list[bytes]:
    """Return what training reads from a replay."""
    rng = np.random.default_rng(seed)
    drawn = [*replay.sample(rng, 10), *replay.sample_segments(rng, 4, 3)]
    return [array.tobytes() for array in (*drawn, replay.waiting(), replay.next_frames(3))]


@given(
    before=lives,
    after=lives,
    k=st.integers(0, 3),
    compressed=st.booleans(),
    delete_evicted=st.booleans(),
)
def test_a_loaded_replay_continues_bit_for_bit(
    before: list[Event], after: list[Event], k: int, compressed: bool, delete_evicted: bool
) -> None:
    options = {"compressed": compressed, "delete_evicted": delete_evicted}
    table = TransitionTable(N_ACTIONS)
    life = lived(Life(make(9, k, table, **options)), before)
    copied_table = TransitionTable(N_ACTIONS)
    copied_table.load_state_dict(table.state_dict())
    copy = make(9, k, copied_table, **options)
    copy.load_state_dict(through_a_file(life.replay.state_dict()))
    assert snapshot(copy) == snapshot(life.replay)
    assert copy.in_episode == life.replay.in_episode
    assert copy.n_episodes == life.replay.n_episodes
    twin = Life(copy)
    twin.seen = [type(one)(**vars(one)) for one in life.seen]
    twin.evicted = list(life.evicted)
    for seed, what in enumerate([*after, Event("step")]):
        life.do(what)
        twin.do(what)
        if len(life.replay) and seed % 4 == 0:
            assert seen(copy, seed) == seen(life.replay, seed)
    assert snapshot(copy) == snapshot(life.replay)
    assert_counts(copied_table, life.counted())


@given(
    parts=st.lists(lives, min_size=1, max_size=3),
    compressed=st.booleans(),
    limit=st.integers(1, 5),
)
def test_pieces_of_frames_make_the_same_replay_as_all_at_once(
    parts: list[list[Event]], compressed: bool, limit: int
) -> None:
    life = Life(make(9, 1, compressed=compressed))
    pieces: list[dict[str, Any]] = []
    saved = 0
    for part in parts:
        lived(life, part)
        while saved < life.replay.end:
            piece = life.replay.frames_since(saved, limit)
            pieces.append(piece)
            taken = piece["frames_lengths" if compressed else "frames_raw"]
            assert len(taken) <= limit
            saved = int(piece["frames_first"]) + len(taken)
        state = life.replay.state_dict(frames=False)
        assert not any(name.startswith("frames") for name in state)
        copy = make(9, 1, compressed=compressed)
        copy.load_state_dict(state, iter(pieces))
        assert snapshot(copy) == snapshot(life.replay)


def test_a_piece_newer_than_the_rest_does_no_harm() -> None:
    """A run was killed after writing new frames but before the rest, and continued differently."""
    life = lived(Life(make(9)), [Event("step")] * 6)
    earlier = [life.replay.frames_since(0)]
    state = life.replay.state_dict(frames=False)
    lived(life, [Event("step")] * 2)
    earlier.append(life.replay.frames_since(6))
    copy = make(9)
    copy.load_state_dict(state, earlier)
    copy.append(0, 0.0, np.array([77, 77], np.uint8))
    pieces = [*earlier, copy.frames_since(6)]
    again = make(9)
    again.load_state_dict(copy.state_dict(frames=False), pieces)
    assert snapshot(again) == snapshot(copy)


def test_a_saved_replay_is_a_copy() -> None:
    life = lived(Life(make(4)), [Event("step")] * 3)
    saved = life.replay.state_dict()
    before = {name: np.asarray(value).tobytes() for name, value in saved.items()}
    lived(life, [Event("step", 2, 1.0)] * 5)
    life.replay.reassign([6], np.array([5], np.uint64))
    assert {name: np.asarray(value).tobytes() for name, value in saved.items()} == before
    copy = make(4)
    copy.load_state_dict(saved)
    lived(Life(copy), [])
    copy.append(1, 1.0, np.zeros(2, np.uint8))
    assert {name: np.asarray(value).tobytes() for name, value in saved.items()} == before


OTHERS: list[dict[str, Any]] = [
    {"capacity": 10},
    {"history": 2},
    {"compressed": True},
    {"delete_evicted": True},
]


@pytest.mark.parametrize("other", OTHERS)
def test_a_replay_with_other_settings_is_refused(other: dict[str, Any]) -> None:
    life = lived(Life(make(9, 1)), [Event("step")] * 3)
    with pytest.raises(ValueError, match=f"saved replay: {next(iter(other))} must be"):
        make(**({"capacity": 9, "history": 1} | other)).load_state_dict(life.replay.state_dict())


def test_missing_frames_are_named() -> None:
    life = lived(Life(make(9)), [Event("step")] * 6)
    state, pieces = life.replay.state_dict(frames=False), [life.replay.frames_since(3)]
    with pytest.raises(ValueError, match="saved replay: frame 0 is missing"):
        make(9).load_state_dict(state, pieces)
    with pytest.raises(ValueError, match="saved replay: frames_first is missing"):
        make(9).load_state_dict(state)


DAMAGE: list[tuple[str, int, Any]] = [
    ("action", 2, N_ACTIONS),
    ("reward", 3, np.nan),
    ("fate", 1, Fate.OPEN),
    ("fate", 1, Fate.TERMINAL),
    ("fate", -1, Fate.CONTINUED),
    ("fate", 1, 4),
    ("episode", 2, 1),
    ("start", 0, 7),
    ("encoded", 0, False),
    ("frames_lengths", 0, 1),
    ("frames_first", 0, 1),
    ("end", 0, 5),
    ("cursor", 0, 7),
]


@pytest.mark.parametrize(("name", "at", "wrong"), DAMAGE)
def test_a_contradictory_state_is_refused(name: str, at: int, wrong: Any) -> None:
    life = lived(Life(make(9, compressed=True)), [Event("step")] * 6)
    life.replay.reassign([0], np.array([5], np.uint64))
    saved = through_a_file(life.replay.state_dict())
    make(9, compressed=True).load_state_dict(saved)
    saved[name].reshape(-1)[at] = wrong
    with pytest.raises(ValueError, match="saved replay: "):
        make(9, compressed=True).load_state_dict(saved)


@pytest.mark.parametrize("block", [lz4.block.compress(b"a", store_size=False), b"\xff\xff"])
def test_a_compressed_frame_of_the_wrong_size_is_refused(block: bytes) -> None:
    life = lived(Life(make(9, compressed=True)), [Event("step")])
    saved = life.replay.state_dict()
    saved["frames_lz4"] = np.frombuffer(block, np.uint8)
    saved["frames_lengths"] = np.array([len(block)])
    with pytest.raises(ValueError, match="saved replay: a compressed frame is damaged"):
        make(9, compressed=True).load_state_dict(saved)


WRONG = (-(2**63), -(2**31), -2, -1, 0, 1, 5, 77, 255, 2**31 - 1, 2**63 - 1)


@given(data=st.data(), compressed=st.booleans())
def test_a_damaged_replay_is_refused_or_harmless(data: st.DataObject, compressed: bool) -> None:
    replay = random_life(
        np.random.default_rng(2), make(9, 1, compressed=compressed), 25, 0.2
    ).replay
    replay.reassign([20, 21, 24], np.array([1, 2, 3], np.uint64))
    saved = through_a_file(replay.state_dict())
    name = data.draw(st.sampled_from(sorted(saved)))
    kind = data.draw(st.sampled_from(["drop", "cut", "type", "change"]))
    value = saved[name]
    if kind == "drop" or value.size == 0 or value.dtype.kind == "U":
        del saved[name]
    elif kind == "cut":
        saved[name] = value[: data.draw(st.integers(0, len(value) - 1))] if value.ndim else None
    elif kind == "type":
        saved[name] = value.astype(np.float32)
    else:
        at = data.draw(st.integers(0, value.size - 1))
        wrong = np.int64(data.draw(st.sampled_from(WRONG)))
        value.reshape(-1)[at] = wrong.astype(value.dtype)
    copy = lived(Life(make(9, 1, compressed=compressed)), [Event("step")] * 12).replay
    before = snapshot(copy)
    try:
        copy.load_state_dict(saved)
    except ValueError as error:
        refusal = str(error)
    else:
        refusal = ""
    event(refusal)
    if refusal:
        assert "\n" not in refusal
        assert refusal.startswith("saved replay: ")
        assert snapshot(copy) == before
        return
    # An older version saved no poses.
    assert kind in ("change", "type") or (kind, name) == ("drop", "frames_poses")
    seen(copy, 0)
    if copy.in_episode:
        copy.end_truncated()
    copy.begin(np.zeros(2, np.uint8))
    for _ in range(12):
        copy.append(0, 0.0, np.zeros(2, np.uint8))
    seen(copy, 0)
