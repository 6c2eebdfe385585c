"""A run as one file: `vast export`, `vast import`, and files that somebody else made."""

import hashlib
import io
import json
import pickle
import shutil
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vast as package
from tests.experiments.conftest import Refused, files_in
from tests.experiments.sameness import assert_same, flat, rows, vast
from tests.experiments.test_own_maps import MAZE
from tests.training.runs import identical
from vast.errors import UserError
from vast.experiments.runs import open_readonly
from vast.replay import Replay
from vast.training.checkpoint import Checkpoint

Members = dict[str, bytes]

TASKS = {"t-maze-2d": 200, "gym:CartPole-v1": 200, "mine.maze": 40}
"""what is trained, and for how many steps: vectors twice, and images in a maze of one's own"""


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return runs by task, each beside its file `agent.vast`."""
    found = {}
    for task, steps in TASKS.items():
        folder = tmp_path_factory.mktemp("trained")
        (folder / "mine.maze").write_text(MAZE, encoding="utf-8")
        what = folder / task if task == "mine.maze" else task
        debug = ("--preset", "debug", "--steps", str(steps))
        vast("train", what, *debug, "--out", folder / "run")
        (folder / "mine.maze").unlink()
        vast("export", folder / "run", folder / "agent.vast")
        found[task] = folder / "run"
    return found


def evaluated(run: Path, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    vast("eval", run, "--steps", "60")
    return capsys.readouterr().out


def table_of(run: Path) -> dict[str, Any]:
    return dict(flat(package.load_table(run).state_dict()))


@pytest.mark.parametrize("task", TASKS)
def test_an_imported_agent_is_the_same_agent(
    task: str, trained: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = trained[task]
    shared = tmp_path / "moved.vast"
    shutil.copy(run.parent / "agent.vast", shared)
    vast("import", shared, "--out", tmp_path / "run")
    assert evaluated(run, capsys) == evaluated(tmp_path / "run", capsys)
    folders = [each / "checkpoint" for each in (run, tmp_path / "run")]
    states = [dict(flat(Checkpoint(folder).load()[0])) for folder in folders]
    assert identical(*states)
    assert rows(run) == rows(tmp_path / "run")
    assert identical(table_of(run), table_of(tmp_path / "run"))
    assert identical(table_of(run), table_of(shared))
    for each in ("config.json", *(["maze.maze"] if task == "mine.maze" else [])):
        assert (tmp_path / "run" / each).read_bytes() == (run / each).read_bytes()
    with open_readonly(run) as one, open_readonly(tmp_path / "run") as other:
        poses = []
        for opened, has_frames in ((one, True), (other, task != "mine.maze")):
            replay = opened.agent.frame_store
            assert isinstance(replay, Replay)
            assert replay.has_frames == has_frames
            poses.append(replay.poses(np.arange(replay.oldest, replay.end)))
        assert identical(*poses)


def test_python_loads_a_file_without_unpacking_it(
    trained: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = trained["gym:CartPole-v1"]
    monkeypatch.chdir(tmp_path)
    before = files_in(run.parent)
    agents = [package.VaST.load(p, "CartPole-v1") for p in (run, run.parent / "agent.vast")]
    assert files_in(run.parent) == before
    assert list(tmp_path.iterdir()) == []
    for seen in np.random.default_rng(0).normal(size=(20, 4)).astype(np.float32):
        one, other = (agent.q_values(seen) for agent in agents)
        np.testing.assert_array_equal(one, other)
    assert [agent.run_directory for agent in agents] == [run, None]
    agents[1].learn(5, progress=False)  # vectors are included
    with pytest.raises(UserError, match="must hold the agent 'nec', got 'vast'"):
        package.NEC.load(run.parent / "agent.vast", "CartPole-v1")
    for agent in agents:
        agent.close()


def test_without_its_images_an_agent_is_shown_but_not_trained(
    trained: dict[str, Path], tmp_path: Path, refused: Refused
) -> None:
    vast("import", trained["mine.maze"].parent / "agent.vast", "--out", "run")
    said = refused("resume", "run", "--steps", "60")
    assert said == (
        "vast: run cannot be resumed: its frames were left out when it was exported; "
        "`vast export --with-replay` includes them\n"
    )
    vast("report", "run")
    assert "left out when this run was exported" in Path("run/report.html").read_text("utf-8")
    vast("play", "run", "--out", "film.gif", "--steps", "5")
    agent = package.VaST.load("run", package_env("run"))
    with pytest.raises(UserError, match="to learn, an agent needs its frames"):
        agent.learn(5, progress=False)
    agent.close()
    vast("export", "run", "again.vast")
    vast("import", "again.vast", "--out", "again")
    assert identical(table_of(Path("run")), table_of(Path("again")))


def package_env(run: str) -> Any:
    from vast.experiments.run_directory import read_config

    return read_config(Path(run)).make_env()


def test_with_its_replay_it_is_resumed_to_the_bit(
    trained: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = trained["mine.maze"]
    vast("export", run, "whole.vast", "--with-replay")
    assert Path("whole.vast").stat().st_size > (run.parent / "agent.vast").stat().st_size
    vast("import", "whole.vast")  # its default place
    shutil.copytree(run, "run")
    for each in ("run", "runs/whole"):
        vast("resume", each, "--steps", "70")
    assert_same(Path("run"), Path("runs/whole"))


def test_the_same_run_gives_the_same_file(trained: dict[str, Path], tmp_path: Path) -> None:
    vast("export", trained["t-maze-2d"], tmp_path / "b.vast")
    first = trained["t-maze-2d"].parent / "agent.vast"
    assert (tmp_path / "b.vast").read_bytes() == first.read_bytes()


# --- mistakes ---------------------------------------------------------------------------------


def test_mistakes_get_one_line(trained: dict[str, Path], tmp_path: Path, refused: Refused) -> None:
    run = trained["t-maze-2d"]
    assert "must end in .vast, got agent.zip" in refused("export", run, "agent.zip")
    assert "is not a run directory" in refused("export", "nowhere", "agent.vast")
    assert "cannot read nowhere.vast: No such file" in refused("import", "nowhere.vast")
    assert "cannot write nowhere/agent.vast" in refused("export", run, "nowhere/agent.vast")
    Path("there").mkdir()
    file = run.parent / "agent.vast"
    assert "there exists already" in refused("import", file, "--out", "there")


# --- files that somebody else made ------------------------------------------------------------


def members_of(file: Path) -> Members:
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def described(members: Members, **changes: Any) -> Members:
    """Return the members with a manifest that fits them."""
    manifest = json.loads(members["manifest.json"])
    manifest["files"] = {
        name: {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        for name, content in members.items()
        if name != "manifest.json"
    }
    return {**members, "manifest.json": json.dumps({**manifest, **changes}).encode()}


def write(file: Path, members: Members) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def changed_config(members: Members, **changes: Any) -> Members:
    content = json.loads(members["config.json"])
    content["config"] |= changes
    return described({**members, "config.json": json.dumps(content).encode()})


def state_name(members: Members) -> str:
    return next(name for name in members if "/state-" in name)


def of_state(members: Members, content: bytes) -> Members:
    """Return the members with another state, and manifests that fit it."""
    name = state_name(members)
    inner = json.loads(members["checkpoint/manifest.json"])
    inner["state"]["size"] = len(content)
    text = json.dumps(inner).encode()
    return described({**members, name: content, "checkpoint/manifest.json": text})


def bomb() -> bytes:
    """Return an archive of arrays that unpacks to much more than its size."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("state.json", " " * 50_000_000)
    return file.getvalue()


def pickled() -> bytes:
    """Return an archive whose array is a pickle, as NumPy would write it."""
    array, file = io.BytesIO(), io.BytesIO()
    np.lib.format.write_array(array, np.array([{"a": 1}], object), allow_pickle=True)
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("state.json", json.dumps({"dict": {"agent": {"array": 0}}}))
        archive.writestr("0.npy", array.getvalue())
    return file.getvalue()


EVIL: dict[str, tuple[Callable[[Members], Members], str]] = {
    "traversal": (
        lambda m: described({**m, "../../evil.txt": b"x"}),
        "'../../evil.txt' does not belong into an agent's file",
    ),
    "hidden traversal": (
        lambda m: described({**m, "checkpoint/../../evil": b"x"}),
        "'checkpoint/../../evil' does not belong",
    ),
    "backslashes": (lambda m: described({**m, "..\\evil": b"x"}), "does not belong"),
    "absolute": (lambda m: described({**m, "/tmp/evil": b"x"}), "'/tmp/evil' does not belong"),
    "pickle": (
        lambda m: described({**m, "agent.pkl": pickle.dumps({"a": 1})}),
        "'agent.pkl' does not belong into an agent's file",
    ),
    "module": (lambda m: described({**m, "sitecustomize.py": b""}), "does not belong"),
    "pickled array": (lambda m: of_state(m, pickled()), "it is damaged"),
    "bomb in arrays": (lambda m: of_state(m, bomb()), "must not be compressed"),
    "newer": (lambda m: described(m, version=2), "must have format version 1, got 2"),
    "no version": (lambda m: described(m, version=None), "must have format version 1, got None"),
    "another format": (lambda m: described(m, format="zip"), "that `vast export` wrote"),
    "no manifest": (
        lambda m: {name: m[name] for name in m if name != "manifest.json"},
        "that `vast export` wrote",
    ),
    "manifest no JSON": (lambda m: {**m, "manifest.json": b"{"}, "is damaged"),
    "deep manifest": (lambda m: {**m, "manifest.json": b"[" * 200_000}, "is damaged"),
    "no files": (lambda m: described(m, files={}), "its manifest is not complete"),
    "odd files": (lambda m: described(m, files={"config.json": 3}), "is not complete"),
    "huge": (
        lambda m: described(m, files={"config.json": {"size": 1 << 60, "sha256": ""}}),
        "must hold at most",
    ),
    "other content": (
        lambda m: {**m, "config.json": m["config.json"].replace(b'"seed": 0', b'"seed": 1')},
        "config.json must have the SHA-256 of its manifest",
    ),
    "other size": (lambda m: {**m, "config.json": b"{}"}, "as its manifest says, got 2"),
    "without a state": (
        lambda m: described({name: m[name] for name in m if name != state_name(m)}),
        "its checkpoint is not complete",
    ),
    "undeclared": (lambda m: {**m, "map.wad": b"x"}, "map.wad must have None bytes"),
    "map elsewhere": (
        lambda m: changed_config(m, wad="../../secret.wad", wad_sha256="0" * 64),
        "the map file of its run must be in it",
    ),
    "absolute map": (
        lambda m: changed_config(m, wad="/etc/passwd"),
        "the map file of its run must be in it",
    ),
    "no run": (lambda m: described({**m, "config.json": b"{}"}), "belongs to something else"),
}


UNREAD = ("other content", "map elsewhere", "absolute map", "no run", "pickle", "module")
"""what an agent that is loaded in Python never reads: nothing beside the checkpoint"""


@pytest.mark.parametrize("kind", EVIL)
def test_a_malicious_file_gets_one_line_and_leaves_nothing(
    kind: str, trained: dict[str, Path], tmp_path: Path, refused: Refused
) -> None:
    change, said = EVIL[kind]
    write(tmp_path / "evil.vast", change(members_of(trained["t-maze-2d"].parent / "agent.vast")))
    assert said in refused("import", "evil.vast", "--out", "run")
    if kind not in UNREAD:
        with pytest.raises(UserError):
            package.VaST.load("evil.vast", "vast/TMaze2D-v0")


def test_links_are_refused(trained: dict[str, Path], tmp_path: Path, refused: Refused) -> None:
    members = members_of(trained["t-maze-2d"].parent / "agent.vast")
    members = described({**members, "map.wad": b"/etc/passwd"})
    with zipfile.ZipFile(tmp_path / "evil.vast", "w") as archive:
        for name, content in members.items():
            info = zipfile.ZipInfo(name)
            if name == "map.wad":
                info.external_attr = (stat.S_IFLNK | 0o777) << 16
            archive.writestr(info, content)
    assert "map.wad must be a regular file, got a link" in refused("import", "evil.vast")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_member_may_be_there_only_once(
    trained: dict[str, Path], tmp_path: Path, refused: Refused
) -> None:
    file = tmp_path / "evil.vast"
    shutil.copy(trained["t-maze-2d"].parent / "agent.vast", file)
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("config.json", archive.read("config.json"))
    assert "each once" in refused("import", "evil.vast")


def test_a_member_longer_than_its_header_says_is_a_bomb(
    trained: dict[str, Path], tmp_path: Path, refused: Refused
) -> None:
    """The sizes in the archive's directory and in the manifest agree, and both lie."""
    members = members_of(trained["t-maze-2d"].parent / "agent.vast")
    long, short = b" " * 3_000_000, b" " * 10
    members = described({**members, "metrics.jsonl": short})
    write(tmp_path / "evil.vast", {**members, "metrics.jsonl": long})
    content = (tmp_path / "evil.vast").read_bytes()
    real, claimed = (len(each).to_bytes(4, "little") for each in (long, short))
    assert content.count(real) == 2  # in the header of the member, and in the directory
    (tmp_path / "evil.vast").write_bytes(content.replace(real, claimed))
    assert "evil.vast is damaged" in refused("import", "evil.vast")


def test_every_truncation_is_noticed(
    trained: dict[str, Path], tmp_path: Path, refused: Refused
) -> None:
    content = (trained["t-maze-2d"].parent / "agent.vast").read_bytes()
    for length in (0, 1, 100, len(content) // 2, len(content) - 1):
        (tmp_path / "cut.vast").write_bytes(content[:length])
        assert "cut.vast is damaged, or no agent" in refused("import", "cut.vast")


def test_damaged_bytes_are_noticed(
    trained: dict[str, Path], tmp_path: Path, refused: Refused
) -> None:
    content = (trained["t-maze-2d"].parent / "agent.vast").read_bytes()
    rng = np.random.default_rng(0)
    for at in rng.integers(200, len(content) * 9 // 10, 10).tolist():
        spoilt = bytearray(content)
        spoilt[at] ^= 0x55
        (tmp_path / "spoilt.vast").write_bytes(spoilt)
        assert "spoilt.vast" in refused("import", "spoilt.vast")


def test_a_module_is_not_imported_unless_it_is_allowed(
    trained: dict[str, Path],
    tmp_path: Path,
    refused: Refused,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "their_module.py").write_text(
        "import pathlib\npathlib.Path('imported').touch()\n", encoding="utf-8"
    )
    members = members_of(trained["gym:CartPole-v1"].parent / "agent.vast")
    config = changed_config(members, task="gym:their_module:CartPole-v1")
    write(tmp_path / "a.vast", config)
    said = refused("import", "a.vast", "--out", "run")
    assert "in the module 'their_module', which would be imported" in said
    refused("import", "a.vast", "--out", "run", "--allow-module", "another")
    assert not Path("imported").exists()
    vast("import", "a.vast", "--out", "run", "--allow-module", "their_module")
    assert Path("imported").exists()
