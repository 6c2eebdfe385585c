"""Files of agents that somebody else made: what is wrong with one is said, and nothing is left."""

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
from tests.experiments.conftest import Refused
from tests.experiments.sameness import vast
from vast.errors import UserError
from vast.training import agent_file

Members = dict[str, bytes]


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


def repeated() -> bytes:
    """Return an archive whose one array stands in many places."""
    array, file = io.BytesIO(), io.BytesIO()
    np.lib.format.write_array(array, np.zeros(1000))
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("state.json", json.dumps({"dict": {"x": [{"array": 0}] * 50}}))
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
    "absolute": (lambda m: described({**m, "/evil": b"x"}), "'/evil' does not belong"),
    "pickle": (
        lambda m: described({**m, "agent.pkl": pickle.dumps({"a": 1})}),
        "'agent.pkl' does not belong into an agent's file",
    ),
    "module": (lambda m: described({**m, "sitecustomize.py": b""}), "does not belong"),
    "pickled array": (lambda m: of_state(m, pickled()), "it is damaged"),
    "bomb in arrays": (lambda m: of_state(m, bomb()), "must not be compressed"),
    "an array again and again": (lambda m: of_state(m, repeated()), "it is damaged"),
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
    "maze elsewhere": (
        lambda m: changed_config(m, task="../../secret.maze", wad=None),
        "the map file of its run must be in it",
    ),
    "no run": (lambda m: described({**m, "config.json": b"{}"}), "belongs to something else"),
}


MAPS = ("map elsewhere", "absolute map", "maze elsewhere")
UNREAD = ("other content", *MAPS, "no run", "pickle", "module")
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


@pytest.mark.parametrize("method", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_a_manifest_is_not_opened_by_any_other_method(
    trained: dict[str, Path], tmp_path: Path, refused: Refused, method: int
) -> None:
    with zipfile.ZipFile(tmp_path / "evil.vast", "w", method) as archive:
        for name, content in members_of(trained["t-maze-2d"].parent / "agent.vast").items():
            archive.writestr(name, content)
    assert "must be an agent that `vast export` wrote" in refused("import", "evil.vast")


def test_what_does_not_fit_into_memory_is_not_read(
    trained: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_file, "_memory", lambda: 1000)
    with pytest.raises(UserError, match="must fit into memory, of 1000 bytes"):
        package.VaST.load(trained["t-maze-2d"].parent / "agent.vast", "vast/TMaze2D-v0")


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
