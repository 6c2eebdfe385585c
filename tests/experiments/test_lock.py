"""One process at a time trains in a run directory; a process that is gone is no obstacle."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.experiments.conftest import Refused
from tests.experiments.sameness import assert_same, rows, started, vast
from vast.errors import UserError
from vast.experiments import lock
from vast.experiments.lock import LOCK, Owner, locked

RUN = ("train", "t-maze-2d", "--preset", "debug", "--steps")
HERE = socket.gethostname()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "run"
    vast(*RUN, "60", "--out", folder)
    return folder


@pytest.fixture
def run(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "run"))


def write(run: Path, host: str, pid: int, start: str | None) -> None:
    (run / LOCK).write_text(json.dumps({"host": host, "pid": pid, "started": start}))


def ended() -> int:
    """Return the id of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_a_run_leaves_no_lock(run: Path) -> None:
    assert not (run / LOCK).exists()
    assert not list(run.glob("*lock*"))


def test_while_one_process_trains_a_second_is_refused_and_told_which(
    refused: Refused, run: Path
) -> None:
    with locked(run):
        owner = json.loads((run / LOCK).read_text())
        assert owner == {"host": HERE, "pid": os.getpid(), "started": lock.started(os.getpid())}
        for words in (("resume", run, "--steps", "90"), (*RUN, "90", "--out", run)):
            assert f"process {os.getpid()} does so now" in refused(*words)
    assert not (run / LOCK).exists()


def test_a_run_that_is_being_trained_can_be_looked_at(run: Path) -> None:
    with locked(run):
        vast("eval", run, "--steps", "20")
        vast("report", run)
        assert (run / LOCK).exists()


@pytest.mark.slow
def test_of_two_processes_that_train_in_one_directory_one_is_refused(tmp_path: Path) -> None:
    run = tmp_path / "run"
    first = started(*RUN, "3000", "--out", run)
    while not (run / LOCK).exists() or not (run / LOCK).read_text():
        assert first.poll() is None
        time.sleep(0.01)
    second = started(*RUN, "3000", "--out", run)
    _, error = second.communicate()
    assert second.returncode == 2
    assert f"process {first.pid} does so now" in error
    assert error.count("\n") == 1
    out, _ = first.communicate()
    assert first.returncode == 0
    assert f"done: {run}" in out.splitlines()
    assert rows(run)[-1]["step"] == 3000
    vast("resume", run, "--steps", "3010")


@pytest.mark.parametrize("start", [None, "another boot 17"])
def test_the_lock_of_a_process_that_is_gone_is_taken_over(
    run: Path, whole: Path, tmp_path: Path, start: str | None
) -> None:
    write(run, HERE, ended(), start)
    vast("resume", run, "--steps", "70")
    assert not (run / LOCK).exists()
    again = Path(shutil.copytree(whole, tmp_path / "again"))
    vast("resume", again, "--steps", "70")
    assert_same(run, again)


def test_a_process_with_the_id_of_one_that_is_gone_is_not_mistaken_for_it(run: Path) -> None:
    write(run, HERE, os.getpid(), "another boot 17")
    with locked(run):
        assert json.loads((run / LOCK).read_text())["started"] == lock.started(os.getpid())


def test_a_process_that_nobody_waited_for_has_ended(run: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    owner = Owner(HERE, process.pid, lock.started(process.pid))
    assert not owner.is_gone
    process.kill()
    while lock.started(process.pid) is not None:
        time.sleep(0.01)
    assert owner.is_gone  # it is a zombie
    process.communicate()
    assert owner.is_gone


def test_the_lock_of_another_host_is_refused_with_its_name_and_age(
    refused: Refused, run: Path
) -> None:
    write(run, "elsewhere", 17, "a boot 5")
    then = time.time() - 600
    os.utime(run / LOCK, (then, then))
    line = refused("resume", run, "--steps", "90")
    assert f"{run / LOCK} was written 10 minutes ago by process 17 on elsewhere" in line
    assert "if it has ended, remove that file" in line


@pytest.mark.parametrize("text", ["", "{", "[]", '{"host": "x"}', '{"host": 1, "pid": "y"}'])
def test_a_damaged_lock_is_refused_with_its_name(refused: Refused, run: Path, text: str) -> None:
    (run / LOCK).write_text(text)
    assert f"{run / LOCK} was written 0 minutes ago" in refused("resume", run, "--steps", "90")


def test_a_lock_is_removed_after_an_error_but_never_one_of_somebody_else(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), locked(tmp_path):
        raise RuntimeError
    assert not (tmp_path / LOCK).exists()
    with locked(tmp_path):
        write(tmp_path, "elsewhere", 17, None)
    assert (tmp_path / LOCK).exists()


def test_a_run_killed_before_its_config_was_written_leaves_a_directory_that_can_be_used(
    tmp_path: Path,
) -> None:
    write(tmp_path, HERE, ended(), None)
    vast(*RUN, "3", "--out", tmp_path)
    assert (tmp_path / "config.json").exists()


RACE = """
import sys, time
from pathlib import Path
from vast.errors import UserError
from vast.experiments.lock import locked
print("ready", flush=True)
sys.stdin.readline()
try:
    with locked(Path(sys.argv[1])):
        print("in", flush=True)
        time.sleep(1)
except UserError:
    print("refused", flush=True)
"""


def test_of_many_processes_that_find_a_stale_lock_one_takes_it_over(tmp_path: Path) -> None:
    write(tmp_path, HERE, ended(), None)
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", RACE, str(tmp_path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        for _ in range(6)
    ]
    for process in processes:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin
        process.stdin.write("\n")
        process.stdin.flush()
    said = [process.communicate()[0].strip() for process in processes]
    assert sorted(said) == ["in"] + ["refused"] * 5
    assert not (tmp_path / LOCK).exists()


def test_a_directory_that_cannot_be_written_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    said = "cannot write .*file/run: Not a directory"
    with pytest.raises(UserError, match=said), locked(tmp_path / "file" / "run"):
        pass
