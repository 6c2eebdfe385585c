"""A checkpoint is whole or is not there, adds only new frames, and runs nobody's code."""

import json
import re
import resource
import shutil
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tests.training.runs import grow, identical, loaded, make, sound, state_of
from vast.errors import UserError
from vast.replay import Replay
from vast.training.checkpoint import Checkpoint
from vast.training.state_file import read_state, write_state

dtypes = st.one_of(
    hnp.boolean_dtypes(),
    hnp.integer_dtypes(endianness="?"),
    hnp.unsigned_integer_dtypes(),
    hnp.floating_dtypes(),
    hnp.complex_number_dtypes(),
    hnp.unicode_string_dtypes(),
)
arrays = hnp.arrays(dtypes, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3))
leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-(2**128), 2**128),
    st.floats(),
    st.text(),
    st.binary(),
    arrays,
    hnp.from_dtype(np.dtype(np.float64)),
    hnp.from_dtype(np.dtype(np.uint8)),
    st.booleans().map(np.bool_),
    st.text().map(np.str_),
)
names = st.one_of(st.text(), st.sampled_from(["a", "a/b", "/", "array", "dict", "0", "0.npy"]))
states = st.dictionaries(
    names,
    st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
        max_leaves=6,
    ),
    max_size=4,
)


@given(state=states)
def test_a_state_comes_back_with_its_names_types_and_bits(
    state: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "state.npz"
    with path.open("wb") as file:
        write_state(file, state)
    assert identical(read_state(path), state)


def test_integers_of_any_size_and_tuples_are_saved(tmp_path: Path) -> None:
    huge = 7**9000
    with (tmp_path / "state").open("wb") as file:
        write_state(file, {"n": (huge, -huge, 2**63, -(2**63))})
    assert read_state(tmp_path / "state") == {"n": [huge, -huge, 2**63, -(2**63)]}


@pytest.mark.parametrize(
    "value",
    [
        object(),
        {1, 2},
        {1: "a"},
        np.array([None]),
        np.array([b"a"]),
        np.zeros(2, "i4,f8"),
        np.ma.masked_array([1, 2], [True, False]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_would_not_come_back_is_refused_by_its_place(value: Any, tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path)
    checkpoint.save({"a": 1})
    with pytest.raises(TypeError, match=r"state\['x/y'\]\[1\]"):
        checkpoint.save({"x/y": [0, value]})
    assert Checkpoint(tmp_path).load()[0] == {"a": 1}
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("compressed", [False, True])
def test_a_run_saved_again_and_again_comes_back_and_goes_on(
    compressed: bool, tmp_path: Path
) -> None:
    replay = make(compressed=compressed)
    checkpoint = Checkpoint(tmp_path / "a" / "b", piece=7)
    assert not checkpoint.exists()
    for _ in range(12):
        grow(replay, 9)
        saved = checkpoint.save(state_of(replay), replay)
        assert saved.frames_written == 9
        assert sound(checkpoint.folder, compressed=compressed) == replay.end
        # The next process: it loads what was saved, and adds to it.
        checkpoint = Checkpoint(checkpoint.folder, piece=7)
        replay = loaded(checkpoint, compressed=compressed)
    assert checkpoint.exists()


def test_a_save_leaves_the_frames_on_disk_alone_and_drops_those_evicted(tmp_path: Path) -> None:
    replay = make()
    checkpoint = Checkpoint(tmp_path, piece=10)
    grow(replay, 25)
    first = checkpoint.save(state_of(replay), replay)
    assert pieces(tmp_path) == [(0, 10), (10, 10), (20, 5)]
    before = {path.name: path.stat() for path in tmp_path.glob("frames-*")}
    grow(replay, 4)
    second = checkpoint.save(state_of(replay), replay)
    assert pieces(tmp_path) == [(0, 10), (10, 10), (20, 5), (25, 4)]
    for name, stat in before.items():
        after = (tmp_path / name).stat()
        assert (after.st_ino, after.st_mtime_ns) == (stat.st_ino, stat.st_mtime_ns)
    assert (first.frames_written, second.frames_written) == (25, 4)
    on_disk = sum(path.stat().st_size for path in tmp_path.iterdir())
    kept = sum(stat.st_size for stat in before.values())
    assert second.bytes_total == on_disk
    assert second.bytes_written == on_disk - kept
    grow(replay, 11)
    assert replay.oldest == 10
    checkpoint.save(state_of(replay), replay)
    assert pieces(tmp_path) == [(10, 10), (20, 5), (25, 4), (29, 10), (39, 1)]
    grow(replay, 100)
    checkpoint.save(state_of(replay), replay)
    assert pieces(tmp_path) == [(110, 10), (120, 10), (130, 10)]
    assert len(list(tmp_path.iterdir())) == 3 + 2
    assert sound(tmp_path) == 140


def test_another_agent_replaces_all_frames_even_if_it_is_further(tmp_path: Path) -> None:
    for steps, seed in ((20, 1), (29, 2), (12, 3)):
        replay = make()
        grow(replay, steps, seed=seed)
        assert Checkpoint(tmp_path).save(state_of(replay), replay).frames_written == steps
        assert sound(tmp_path, seed=seed) == steps


def test_frames_of_a_run_that_was_ahead_are_not_kept(tmp_path: Path) -> None:
    ahead, behind = make(), make()
    grow(ahead, 20)
    checkpoint = Checkpoint(tmp_path)
    checkpoint.save(state_of(ahead), ahead)
    grow(behind, 15, seed=5)
    assert checkpoint.save(state_of(behind), behind).frames_written == 15
    assert sound(tmp_path, seed=5) == 15


def test_what_another_process_saved_meanwhile_is_not_mixed_in(tmp_path: Path) -> None:
    mine, other = make(), make()
    grow(mine, 10)
    checkpoint = Checkpoint(tmp_path)
    checkpoint.save(state_of(mine), mine)
    grow(other, 10, seed=5)
    Checkpoint(tmp_path).save(state_of(other), other)
    grow(mine, 3)
    assert checkpoint.save(state_of(mine), mine).frames_written == 13
    assert sound(tmp_path) == 13


def test_a_checkpoint_deleted_during_a_run_is_written_anew(tmp_path: Path) -> None:
    replay = make()
    grow(replay, 10)
    checkpoint = Checkpoint(tmp_path / "run")
    checkpoint.save(state_of(replay), replay)
    shutil.rmtree(tmp_path / "run")
    grow(replay, 3)
    checkpoint.save(state_of(replay), replay)
    assert sound(tmp_path / "run") == 13


def test_only_our_own_stray_files_are_removed(tmp_path: Path) -> None:
    ours = ["state-000001-0123abcd.npz", "frames-000000007-0123abcd.npz", ".manifest.17.json"]
    theirs = ["state.npz", "frames-7-x.npz", "notes.txt", "frames-000000007-0123abcd.npz.bak"]
    for name in ours + theirs:
        (tmp_path / name).write_text("x")
    Checkpoint(tmp_path).save({})
    left = {path.name for path in tmp_path.iterdir()}
    assert left.isdisjoint(ours)
    assert left.issuperset(theirs)


def test_a_folder_of_something_else_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"name": "a web page"}')
    with pytest.raises(UserError, match="is not a checkpoint"):
        Checkpoint(tmp_path).save({})
    assert [path.name for path in tmp_path.iterdir()] == ["manifest.json"]


@contextmanager
def full_beyond(size: int) -> Iterator[None]:
    """Let no file grow larger than this, as if the disk were full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("size", [0, 100, 2000, 10_000])
def test_a_full_disk_leaves_the_checkpoint_of_before(size: int, tmp_path: Path) -> None:
    replay = make()
    grow(replay, 10)
    checkpoint = Checkpoint(tmp_path, piece=1)
    checkpoint.save(state_of(replay), replay)
    files = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    grow(replay, 3)
    large = {**state_of(replay), "large": np.zeros(10_000)}
    with (
        full_beyond(size),
        pytest.raises(UserError, match=r"cannot write .*; the previous checkpoint is intact"),
    ):
        checkpoint.save(large, replay)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == files
    assert sound(tmp_path) == 10
    assert checkpoint.save(state_of(replay), replay).frames_written == 3
    assert sound(tmp_path) == 13


def test_a_disk_too_full_for_the_manifest_leaves_the_checkpoint_of_before(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path, piece=1)
    replay = make()
    grow(replay, 30)
    checkpoint.save({"a": 1}, replay)
    size = (tmp_path / "manifest.json").stat().st_size
    assert size > 2 * max(path.stat().st_size for path in tmp_path.glob("*.npz"))
    with full_beyond(size // 2), pytest.raises(UserError, match="intact"):
        checkpoint.save({"a": 2}, replay)
    assert Checkpoint(tmp_path).load()[0] == {"a": 1}
    assert len(list(tmp_path.iterdir())) == 32


def test_a_first_save_that_fails_leaves_no_checkpoint(tmp_path: Path) -> None:
    with full_beyond(100), pytest.raises(UserError, match=r"cannot write [^;]*$"):
        Checkpoint(tmp_path).save({"a": np.zeros(1000)})
    assert not list(tmp_path.iterdir())
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot write"):
        Checkpoint(tmp_path / "file").save({})


# --- what is wrong when loading -------------------------------------------------------------------


def pieces(folder: Path) -> list[tuple[int, int]]:
    manifest = json.loads((folder / "manifest.json").read_text())
    return [(piece["first"], piece["count"]) for piece in manifest["frames"]["pieces"]]


def edit(change: Callable[[dict[str, Any]], None]) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        manifest = json.loads((folder / "manifest.json").read_text())
        change(manifest)
        (folder / "manifest.json").write_text(json.dumps(manifest))

    return damage


def one(folder: Path, pattern: str) -> Path:
    return sorted(folder.glob(pattern))[0]


def cut(folder: Path) -> None:
    path = one(folder, "frames-*")
    path.write_bytes(path.read_bytes()[:-1])


def resized(folder: Path, path: Path) -> None:
    """Let the manifest agree with what was done to a file."""

    def change(manifest: Mapping[str, Any]) -> None:
        for part in (manifest["state"], *manifest["frames"]["pieces"]):
            if part["file"] == path.name:
                part["size"] = path.stat().st_size

    edit(change)(folder)


def pickled(folder: Path) -> None:
    path = one(folder, "state-*")
    with path.open("wb") as file:
        np.savez(file, a=np.array([Trap()], dtype=object))
    with zipfile.ZipFile(path) as archive:
        member = archive.read("a.npy")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("state.json", json.dumps({"dict": {"a": {"array": 0}}}))
        archive.writestr("0.npy", member)
    resized(folder, path)


def no_zip(folder: Path) -> None:
    one(folder, "state-*").write_bytes(b"x" * 3000)
    resized(folder, one(folder, "state-*"))


class Trap:
    """Something whose unpickling would be noticed."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (Path("sprung"),))


WRONG: dict[str, tuple[Callable[[Path], Any], str]] = {
    "no folder": (shutil.rmtree, "is not a checkpoint: there is no such directory"),
    "no manifest": (lambda f: (f / "manifest.json").unlink(), "is not a checkpoint: it has no"),
    "other JSON": (lambda f: (f / "manifest.json").write_text("[1]"), "is not a checkpoint: its"),
    "no JSON": (lambda f: (f / "manifest.json").write_text('{"format'), "manifest.json is damaged"),
    "no text": (lambda f: (f / "manifest.json").write_bytes(b"\xff\xfe\0"), "is damaged"),
    "deep JSON": (lambda f: (f / "manifest.json").write_text("[" * 100_000), "is damaged"),
    "other format": (edit(lambda m: m.update(format="other")), "belongs to something else"),
    "other version": (
        edit(lambda m: m.update(version=1)),
        "format version 2, got version 1",
    ),
    "no state": (edit(lambda m: m.pop("state")), "manifest.json is damaged"),
    "outside": (edit(lambda m: m["state"].update(file="../../secret")), "manifest.json is damaged"),
    "no number": (edit(lambda m: m["frames"].update(end="7")), "manifest.json is damaged"),
    "missing state": (lambda f: one(f, "state-*").unlink(), r"state-\w+-\w+.npz is missing"),
    "missing piece": (lambda f: one(f, "frames-*").unlink(), r"frames-\w+-\w+.npz is missing"),
    "cut": (cut, r"frames-\w+-\w+.npz must have \d+ bytes, got \d+"),
    "gap": (edit(lambda m: m["frames"]["pieces"].pop(1)), "frames from 10 on are missing"),
    "no begin": (edit(lambda m: m["frames"]["pieces"].pop(0)), "frames from 0 on are missing"),
    "no end": (edit(lambda m: m["frames"]["pieces"].pop()), "frames from 20 on are missing"),
    "no zip": (no_zip, "it is damaged"),
    "pickle": (pickled, "it is damaged"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_no_sound_checkpoint_is_refused_in_one_line(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "checkpoint"
    replay = make()
    grow(replay, 25)
    Checkpoint(folder, piece=10).save(state_of(replay), replay)
    damage, message = WRONG[case]
    damage(folder)
    with pytest.raises(UserError) as caught:
        Checkpoint(folder).load()
    assert re.search(message, str(caught.value))
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "sprung").exists()


@pytest.fixture(scope="module")
def five_frames(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any], Replay]:
    folder = tmp_path_factory.mktemp("five_frames")
    replay = make()
    grow(replay, 5)
    state = {"a": [np.arange(4.0), 7, 0.5], "b": {"c": "text"}}
    Checkpoint(folder).save(state, replay)
    return folder, state, replay


@given(
    which=st.sampled_from(["state-*", "frames-*"]), at=st.integers(0, 20_000), bit=st.integers(0, 7)
)
def test_any_changed_bit_is_found_or_changes_nothing(
    which: str, at: int, bit: int, five_frames: tuple[Path, dict[str, Any], Replay]
) -> None:
    folder, state, replay = five_frames
    path = one(folder, which)
    sound = path.read_bytes()
    damaged = bytearray(sound)
    damaged[at % len(sound)] ^= 1 << bit
    path.write_bytes(damaged)
    try:
        found, frames = Checkpoint(folder).load()
        same = identical(found, state) and identical(list(frames), [replay.frames_since(0)])
    except UserError as error:
        same = path.name in str(error)
    finally:
        path.write_bytes(sound)
    assert same
