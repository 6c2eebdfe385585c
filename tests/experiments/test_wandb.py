"""`vast train --wandb`, with the real package in its offline mode: nothing is sent anywhere."""

import json
import math
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module, invalidate_caches
from pathlib import Path
from typing import Any

import pytest

from tests.experiments.conftest import Refused
from tests.experiments.sameness import rows
from vast import extras
from vast.cli.train import parse_train
from vast.errors import UserError

DEBUG = ("train", "gym:CartPole-v1", "--preset", "debug", "--out", "run")


@pytest.fixture
def server() -> Iterator[socket.socket]:
    """Return a socket that listens where the package believes its server to be."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        yield listening


def vast_in(folder: Path, server: socket.socket, *words: str) -> str:
    """Run the command in a process whose home is elsewhere; return what it said to stderr."""
    code, said = python_in(folder, server, "from vast.cli import main; main()", *words)
    assert code == 0, said
    return said


def python_in(folder: Path, server: socket.socket, program: str, *words: str) -> tuple[int, str]:
    """Run a program in such a process; return its exit code, too."""
    home = folder / "home"
    home.mkdir(exist_ok=True)
    address = f"http://127.0.0.1:{server.getsockname()[1]}"
    kept = {name: os.environ[name] for name in ("PATH", "OMP_NUM_THREADS") if name in os.environ}
    environment = {
        **kept,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "HOME": str(home),
        "XDG_CACHE_HOME": str(Path.home() / ".cache"),  # of compiled functions
        "WANDB_MODE": "offline",
        "WANDB_BASE_URL": address,
        "HTTPS_PROXY": address,
    }
    command = [sys.executable, "-c", program, *words]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stderr


def logged_in(folder: Path) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the rows and the config of the offline files of a run, in the order of their time."""
    found: list[dict[str, Any]] = []
    config: dict[str, Any] = {}
    for kind, record in records_in(folder):
        if kind == "history":
            items = record.history.item
            row = {i.key or i.nested_key[0]: json.loads(i.value_json) for i in items}
            found.append({name: row[name] for name in row if not name.startswith("_")})
        elif kind == "run":
            config = {i.key: json.loads(i.value_json) for i in record.run.config.update}
    return found, config


def records_in(folder: Path) -> Iterator[tuple[str, Any]]:
    """Give all that the offline files of a run hold, and of what kind each is."""
    from wandb.proto import wandb_internal_pb2
    from wandb.sdk.internal.datastore import DataStore

    messages: Any = wandb_internal_pb2  # made at run time, without types
    for file in sorted((folder / "wandb").glob("offline-run-*/run-*.wandb")):
        store: Any = DataStore()
        store.open_for_scan(str(file))
        while (data := store.scan_data()) is not None:
            record = messages.Record()
            record.ParseFromString(data)
            yield record.WhichOneof("record_type"), record
        store.close()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_rows_and_config_are_logged_and_a_resumed_run_goes_on(
    tmp_path: Path, server: socket.socket
) -> None:
    vast_in(tmp_path, server, *DEBUG, "--steps", "200", "--wandb")
    run = tmp_path / "run"
    to = json.loads((run / "wandb.json").read_text("utf-8"))
    assert to["project"] == "vast"
    vast_in(tmp_path, server, "resume", "run", "--steps", "400")
    assert json.loads((run / "wandb.json").read_text("utf-8")) == to
    names = [path.name for path in (run / "wandb").glob("offline-run-*")]
    assert len(names) == 2
    assert all(name.endswith(f"-{to['id']}") for name in names)

    logged, config = logged_in(run)
    written = [
        {name: value for name, value in row.items() if value is not None and math.isfinite(value)}
        for row in rows(run)
    ]
    assert [{n: row[n] for n in row if n != "wall_seconds"} for row in logged] == written
    assert config["task"] == "gym:CartPole-v1"
    assert config["settings"]["planning"]["discount"] == 0.99
    assert config["device"] == "cpu"

    with pytest.raises(BlockingIOError):  # nobody has called
        server.accept()
    assert {path.name for path in tmp_path.iterdir()} == {"run", "home"}
    assert list((tmp_path / "home").iterdir()) == []


CRASHING = """
import sys
from pathlib import Path
from vast.experiments.config import default_run
from vast.experiments.wandb_log import WandbRun, logged

config = default_run("t-maze-2d", "vast", "debug")
with logged(Path("run"), config, WandbRun(sys.argv[1], "a1")):
    raise RuntimeError("crashed")
"""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_run_that_crashed_is_logged_as_failed(tmp_path: Path, server: socket.socket) -> None:
    (tmp_path / "run").mkdir()
    code, said = python_in(tmp_path, server, CRASHING, "vast")
    assert code == 1
    assert "RuntimeError: crashed" in said
    ends = [each.exit.exit_code for kind, each in records_in(tmp_path / "run") if kind == "exit"]
    assert ends == [1]


@pytest.mark.slow
def test_a_run_that_cannot_be_logged_keeps_what_was_never_sent(
    tmp_path: Path, server: socket.socket
) -> None:
    run = tmp_path / "run"
    unsent = run / "wandb" / "offline-run-1" / "run-1.wandb"
    unsent.parent.mkdir(parents=True)
    unsent.write_bytes(b"unsent")
    assert "Invalid project name 'a/b'" in python_in(tmp_path, server, CRASHING, "a/b")[1]
    assert unsent.read_bytes() == b"unsent"
    unsent.unlink()
    unsent.parent.rmdir()
    (run / "wandb").rmdir()
    assert "Invalid project name 'a/b'" in python_in(tmp_path, server, CRASHING, "a/b")[1]
    assert list(run.iterdir()) == []


def test_the_project_may_be_named_or_not() -> None:
    assert parse_train(["t-maze-2d", "--wandb", "mine"]).wandb == "mine"
    assert parse_train(["t-maze-2d", "--wandb"]).wandb == "vast"
    assert parse_train(["t-maze-2d", "--wandb", "--seed", "3"]).wandb == "vast"
    assert parse_train(["t-maze-2d"]).wandb is None
    assert parse_train(["t-maze-2d"]).config == parse_train(["t-maze-2d", "--wandb"]).config


def test_without_the_package_its_extra_is_named(
    monkeypatch: pytest.MonkeyPatch, refused: Refused
) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    said = refused(*DEBUG, "--wandb")
    assert said == "vast: --wandb requires Weights & Biases: pip install 'vast-rl[wandb]'\n"


def test_a_folder_with_the_name_of_a_package_is_not_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a_folder").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(extras.EXTRAS, "wandb", extras.Extra("a_folder", "A Folder"))
    assert not extras.is_installed("wandb")
    with (
        pytest.raises(UserError, match="--wandb requires A Folder"),
        extras.importing("wandb", "--wandb"),
    ):
        import_module("a_folder")
    (tmp_path / "a_folder" / "__init__.py").touch()
    invalidate_caches()
    assert extras.is_installed("wandb")


def test_a_run_stays_in_its_project(tmp_path: Path, refused: Refused) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "wandb.json").write_text('{"project": "one", "id": "a"}', "utf-8")
    said = refused(*DEBUG, "--wandb", "two")
    assert "run is logged to the project 'one' already, got 'two'" in said
    (tmp_path / "run" / "wandb.json").write_text("{", "utf-8")
    assert "run/wandb.json must hold a project and an id" in refused(*DEBUG, "--wandb")
