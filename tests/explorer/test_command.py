"""`vast explore` as a command, and tables saved alone."""

import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from tests.experiments.conftest import Refused
from tests.experiments.conftest import refused as refused
from tests.experiments.sameness import vast
from tests.explorer.conftest import Site
from tests.explorer.test_security import asked, page_of
from tests.explorer.worlds import steps_in_grid, table_of
from vast.errors import UserError
from vast.experiments.tables import load_table, save_table
from vast.explorer.server import Door


@contextmanager
def started(folder: Path, *words: str) -> Iterator[tuple["subprocess.Popen[str]", Door]]:
    """Start `vast explore` in a process, and yield it with its door."""
    code = "from vast.cli import main; main()"
    command = [sys.executable, "-c", code, "explore", str(folder), "--no-open", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        found = re.fullmatch(
            r"http://127\.0\.0\.1:(\d+)/\?token=([\w-]+)\n", process.stdout.readline()
        )
        assert found
        try:
            yield process, Door(int(found[1]), found[2])
        finally:
            process.kill()


def children(pid: int) -> list[Path]:
    found = subprocess.run(["ps", "--ppid", str(pid), "-o", "pid="], capture_output=True, text=True)
    return [Path("/proc", child) for child in found.stdout.split()]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_line_is_the_address_and_an_interrupt_ends_everything(
    tmp_path: Path, site: Site, number: signal.Signals
) -> None:
    tables = tmp_path / "mine"
    with (
        started(site.folder, "--save-to", str(tables)) as (process, door),
        page_of(door) as page,
    ):
        hello = asked(page, do="hello")
        assert hello["title"] == "t-maze"
        assert hello["actions"] == ["forward", "left", "right"]
        assert hello["runs"] == ["t-maze"]
        assert len(hello["walls"]) > 4
        assert asked(page, do="drive", start=True)["step"] == 0  # an engine runs now
        assert Path(asked(page, do="save", name="mine")["path"]) == tables / "mine.npz"
        engines = children(process.pid)
        assert engines
        process.send_signal(number)
        assert process.wait(30) == 0
    until = time.monotonic() + 10
    while any(engine.exists() for engine in engines) and time.monotonic() < until:
        time.sleep(0.1)
    assert not any(engine.exists() for engine in engines)
    assert len(load_table(tables / "mine.npz")) > 0


def test_what_cannot_be_explored_is_refused_in_one_line(refused: Refused, tmp_path: Path) -> None:
    assert "is not a run directory" in refused("explore", tmp_path / "nowhere", "--no-open")


@pytest.mark.slow
def test_a_run_without_a_table_and_a_port_in_use(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], door: Door
) -> None:
    options = ("--preset", "debug", "--out")
    vast("train", "t-maze-2d", "--agent", "ddqn", *options, tmp_path / "ddqn")
    vast("train", "t-maze-2d", *options, tmp_path / "vast")
    for words, message in (
        (("explore", tmp_path / "ddqn"), "the agent 'ddqn' has no table to explore"),
        (("explore", tmp_path / "vast", "--port", str(door.port)), "cannot listen on port"),
        (("explore", tmp_path / "vast", "--port", "99999999"), "port must be between 0 and 65535"),
    ):
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            vast(*words, "--no-open")
        assert stop.value.code == 2
        assert message in capsys.readouterr().err


def test_a_table_saved_alone_is_read_back_exactly(tmp_path: Path) -> None:
    table = table_of(steps_in_grid(4, 3))
    table.set_reward(int(table.states()[0]), 0, 0.5)
    save_table(table, tmp_path / "a.npz")
    again = load_table(tmp_path / "a.npz").state_dict()
    for name, value in table.state_dict().items():
        np.testing.assert_array_equal(again[name], value)


def test_a_damaged_table_is_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    save_table(table_of(steps_in_grid(4, 3)), path)
    whole = path.read_bytes()
    pickled = np.array([{"a": 1}], dtype=object)
    for damage in (whole[:100], b"", whole[:-30], None):
        if damage is None:
            np.savez(path, version=pickled)
        else:
            path.write_bytes(damage)
        with pytest.raises(UserError, match="must be a table that was saved"):
            load_table(path)
    with pytest.raises(UserError, match="cannot read"):
        load_table(tmp_path / "b.npz")
    with pytest.raises(UserError, match=r"must end in \.npz"):
        save_table(table_of([]), tmp_path / "a.txt")
