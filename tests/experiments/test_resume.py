"""Stop + resume equals never having stopped: every weight, count, value, generator and metric."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tests.agents.worlds import assigned, training_steps
from tests.experiments.sameness import SAVING, assert_same, killed_at, rows, saved, started, vast
from tests.planning.models import assert_counts, assert_sound
from vast.agents.vast.agent import VaST
from vast.experiments.config import RunConfig
from vast.experiments.run_directory import read_config
from vast.experiments.runs import open_readonly
from vast.training.callbacks import StopWhen

MAZE = ("train", "plus-maze", "--preset", "debug", "--interventions", "150:reverse", "400:reverse")
VECTOR = ("train", "t-maze-2d", "--preset", "debug")
STEPS = "420"


@pytest.fixture(scope="module")
def maze(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run on pixels that nobody interrupted."""
    folder = tmp_path_factory.mktemp("runs") / "maze"
    vast(*MAZE, "--steps", STEPS, "--out", folder)
    return folder


@pytest.fixture(scope="module")
def vector(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run on vectors that nobody interrupted."""
    folder = tmp_path_factory.mktemp("runs") / "vector"
    vast(*VECTOR, "--steps", STEPS, "--out", folder)
    return folder


def test_a_run_does_all_that_a_run_does(vector: Path) -> None:
    """So that it says something when two are the same."""
    found, metrics = saved(vector), rows(vector)
    assert found["/agent/trainings"] > 20
    assert found["/agent/result/codes"].size > 0
    assert found["/actor/in_episode"]
    assert [row["step"] for row in metrics] == list(range(50, 421, 50))
    assert [row["step"] for row in metrics if "eval/episodes" in row] == [200, 400]
    assert metrics[-1]["table/states"] > 10
    assert metrics[-1]["table/reassigned"] > 0


@pytest.mark.slow
def test_rewards_were_reversed_and_back(maze: Path) -> None:
    assert saved(maze)["/intervened"] == 2
    assert saved(maze)["/actor/settings/reversed"] is False


@pytest.mark.parametrize(
    "first",
    [pytest.param(50, marks=pytest.mark.slow), pytest.param(99, marks=pytest.mark.slow), 250],
)
def test_a_run_on_vectors_resumed_is_the_run_that_never_stopped(
    vector: Path, tmp_path: Path, first: int
) -> None:
    vast(*VECTOR, "--steps", str(first), "--out", tmp_path / "run")
    vast("resume", tmp_path / "run", "--steps", STEPS)
    assert_same(vector, tmp_path / "run")


@pytest.mark.slow
@pytest.mark.parametrize("first", [150, 253])
def test_a_run_on_pixels_resumed_is_the_run_that_never_stopped(
    maze: Path, tmp_path: Path, first: int
) -> None:
    vast(*MAZE, "--steps", str(first), "--out", tmp_path / "run")
    vast(*MAZE, "--steps", STEPS, "--out", tmp_path / "run")
    assert_same(maze, tmp_path / "run")


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        ("--training.no-overlap",),
        ("--training.segment", "1", "--model.ema-decay", "0", "--replay.compressed"),
        ("--replay.capacity", "150", "--replay.delete-evicted", "--model.history", "2"),
    ],
)
def test_other_ways_to_learn_resume_as_well(tmp_path: Path, options: tuple[str, ...]) -> None:
    for folder, parts in (("whole", (330,)), ("parts", (101, 209, 330))):
        for steps in parts:
            vast(*VECTOR, *options, "--steps", str(steps), "--out", tmp_path / folder)
    assert_same(tmp_path / "whole", tmp_path / "parts")


@pytest.mark.parametrize("trainings", [pytest.param(0, marks=pytest.mark.slow), 11, 19])
def test_a_run_stopped_in_its_burst_of_training_resumes_there(
    vector: Path, tmp_path: Path, trainings: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopping(callback: StopWhen, agent: VaST, total: int) -> bool:
        return agent.steps == 100 and training_steps(agent) > trainings

    monkeypatch.setattr(StopWhen, "on_step", stopping)
    with pytest.raises(SystemExit) as stop:
        vast(*VECTOR, "--steps", STEPS, "--out", tmp_path / "run")
    assert stop.value.code == 130
    assert saved(tmp_path / "run")["/agent/bursts"] == trainings + 1
    monkeypatch.undo()
    vast("resume", tmp_path / "run")
    assert_same(vector, tmp_path / "run")


@pytest.mark.slow
@pytest.mark.parametrize("step", [1, 150])
def test_a_run_on_vectors_that_was_killed_resumes_from_its_last_checkpoint(
    vector: Path, tmp_path: Path, step: int
) -> None:
    run = tmp_path / "run"
    reached = killed_at(run, step, *VECTOR, "--steps", "4000", "--out", run, seconds=0.05)
    assert reached >= step
    total = max(int(STEPS), reached + 100)
    vast("resume", run, "--steps", str(total))
    if total > int(STEPS):  # it was quicker than we were
        vector = tmp_path / "whole"
        vast(*VECTOR, "--steps", str(total), "--out", vector)
    assert_same(vector, run)


@pytest.mark.slow
def test_a_run_on_pixels_that_was_killed_twice_resumes_from_its_last_checkpoint(
    maze: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    first = killed_at(run, 1, *MAZE, "--steps", "3000", "--out", run)
    second = killed_at(run, first + 60, "resume", run)
    assert second >= first + 60
    total = max(int(STEPS), second + 50)
    vast("resume", run, "--steps", str(total))
    if total > int(STEPS):
        maze = tmp_path / "whole"
        vast(*MAZE, "--steps", str(total), "--out", maze)
    assert_same(maze, run)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_saves_and_the_run_goes_on_from_there(
    vector: Path, tmp_path: Path, number: signal.Signals
) -> None:
    run = tmp_path / "run"
    # Whoever runs the tests may ignore hang-ups.
    setup = "import signal; signal.signal(signal.SIGHUP, signal.SIG_DFL)\n"
    process = started(*VECTOR, "--steps", "4000", "--out", run, setup=setup)
    while not (run / "metrics.jsonl").exists() or not rows(run):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(number)
    out, error = process.communicate()
    assert process.returncode == 130
    assert error == ""
    assert out.splitlines()[-1] == f"interrupted and saved; to resume: vast resume {run}"
    reached = saved(run)["/agent/steps"]
    assert reached >= 50
    total = max(int(STEPS), reached + 50)
    vast("resume", run, "--steps", str(total))
    if total > int(STEPS):
        vector = tmp_path / "whole"
        vast(*VECTOR, "--steps", str(total), "--out", vector)
    assert_same(vector, run)


IN_TERMINAL = """
import fcntl, signal, termios
signal.signal(signal.SIGHUP, signal.{handler})
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
"""


@pytest.mark.slow
@pytest.mark.parametrize("handler", ["SIG_DFL", "SIG_IGN"])
def test_a_terminal_that_is_closed_saves_the_run_and_does_not_stop_one_under_nohup(
    tmp_path: Path, handler: str
) -> None:
    run = tmp_path / "run"
    ours, theirs = os.openpty()
    code = IN_TERMINAL.format(handler=handler) + SAVING.format(seconds=60)
    words = (*VECTOR, "--steps", "1500", "--out", str(run))
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", code, *words],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TERM": "xterm"},
    )
    os.close(theirs)
    while not (run / "metrics.jsonl").exists() or not rows(run):
        assert process.poll() is None
        os.read(ours, 10_000)
    os.close(ours)
    process.wait()
    reached = saved(run)["/agent/steps"]
    assert reached == 1500 if handler == "SIG_IGN" else 50 <= reached < 1500
    assert not (run / "lock.json").exists()


@pytest.mark.slow
def test_with_a_background_planner_the_table_resumed_is_that_of_the_assignments(
    tmp_path: Path,
) -> None:
    options = ("--planning.planner", "background", "--out", tmp_path / "run")
    vast(*VECTOR, *options, "--steps", "230")
    vast("resume", tmp_path / "run", "--steps", "420")
    with open_readonly(tmp_path / "run") as run:
        agent = run.agent
        assert isinstance(agent, VaST)
        agent.close()
        assert agent.steps == 420
        assert_counts(agent.table, assigned(agent))
        assert_sound(agent.table)
        agent.table.sweep()
        assert agent.table.queue_length == 0


@pytest.mark.slow
def test_metrics_and_tests_do_not_depend_on_how_often_a_run_is_saved(
    vector: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vast.experiments.runs.SAVE_SECONDS", 0.0)
    vast(*VECTOR, "--steps", "130", "--out", tmp_path / "often")
    monkeypatch.undo()
    vast(*VECTOR, "--steps", "130", "--out", tmp_path / "once")
    assert_same(tmp_path / "often", tmp_path / "once")
    assert rows(tmp_path / "once") == rows(vector)[:2]


@pytest.mark.slow
def test_a_run_is_the_same_again_and_another_with_another_seed(
    vector: Path, tmp_path: Path
) -> None:
    vast(*VECTOR, "--steps", STEPS, "--out", tmp_path / "again")
    assert_same(vector, tmp_path / "again")
    vast(*VECTOR, "--steps", "150", "--seed", "1", "--out", tmp_path / "other")
    assert rows(tmp_path / "other")[2] != rows(vector)[2]


@pytest.mark.slow
def test_a_config_passed_back_in_gives_the_same_run(vector: Path, tmp_path: Path) -> None:
    config: RunConfig = read_config(vector)
    assert config.steps == int(STEPS)
    vast("train", "--config", vector / "config.json", "--out", tmp_path / "again")
    assert_same(vector, tmp_path / "again")
    assert read_config(tmp_path / "again") == config


def test_looking_at_a_run_changes_nothing_in_its_folder(
    vector: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path: path.read_bytes() for path in vector.rglob("*") if path.is_file()}
    capsys.readouterr()
    vast("eval", vector, "--steps", "200")
    line = capsys.readouterr().out
    assert line.count("\n") == 1
    vast("eval", vector, "--steps", "200")
    assert capsys.readouterr().out == line
    assert {path: path.read_bytes() for path in vector.rglob("*") if path.is_file()} == before
    assert np.isfinite(float(json.loads(line)["eval/reward_per_step"]))
