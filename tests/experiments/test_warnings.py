"""Warnings reach the screen and the run's log; a run that is refused leaves no log."""

import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.experiments.conftest import Refused
from tests.experiments.sameness import SAVING, vast
from vast.experiments.run_log import warnings_to
from vast.training.trainer import Trainer

RUN = ("train", "t-maze-2d", "--preset", "debug", "--steps")
log = logging.getLogger("vast.somewhere")


def test_a_warning_in_a_run_is_on_the_screen_once_and_in_its_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    was = Trainer.run

    def warning(self: Trainer, *arguments: object) -> bool:
        log.warning("the %s is damp", "maze")
        log.warning("the maze is damp")
        return was(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Trainer, "run", warning)
    vast(*RUN, "5", "--out", tmp_path / "run")
    assert capsys.readouterr().err == "vast: warning: the maze is damp\n"
    lines = (tmp_path / "run" / "log.txt").read_text().splitlines()
    assert [line.split(" WARNING ")[1] for line in lines] == ["the maze is damp"] * 2
    log.warning("the run is over")
    assert len((tmp_path / "run" / "log.txt").read_text().splitlines()) == 2


def test_a_warning_before_the_run_begins_is_in_its_log_if_it_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "log.txt"
    with warnings_to(path) as begin:
        log.warning("early")
        assert not path.exists()
        begin()
        assert "early" in path.read_text()
        log.warning("late")
        assert "late" in path.read_text()
    assert "early" in capsys.readouterr().err
    path.unlink()
    with warnings_to(path):
        log.warning("refused")
    assert not path.exists()


def test_a_run_refused_after_a_warning_leaves_nothing(
    refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[str] = []
    monkeypatch.setattr("vast.experiments.run_log.Screen.emit", lambda _, r: shown.append(r.msg))
    monkeypatch.setattr("vast.envs.tmaze2d.TMaze2D.close", lambda _: log.warning("odd"))
    line = refused(*RUN, "5", "--interventions", "3:reverse", "--out", "run")
    assert "no rewards that can be reversed" in line
    assert shown == ["odd"]


IN_TERMINAL = """
import logging
from vast.training.callbacks import ShowProgress
was = ShowProgress.on_step
def on_step(self, agent, total):
    was(self, agent, total)
    if agent.steps == 30:
        logging.getLogger("vast.somewhere").warning("the maze is damp")
ShowProgress.on_step = on_step
"""


@pytest.mark.slow
@pytest.mark.parametrize("to_file", [False, True])
def test_in_a_terminal_a_warning_stands_on_a_line_of_its_own_above_the_display(
    tmp_path: Path, to_file: bool
) -> None:
    ours, theirs = os.openpty()
    with (tmp_path / "errors").open("w") as errors:
        process = subprocess.Popen(
            [
                *(sys.executable, "-W", "ignore", "-c"),
                IN_TERMINAL + SAVING.format(seconds=60),
                *(*RUN, "60", "--out", str(tmp_path / "run")),
            ],
            stdin=theirs,
            stdout=theirs,
            stderr=errors if to_file else theirs,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TERM": "xterm"},
        )
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 10_000)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        shown += part
    os.close(ours)
    assert process.wait() == 0
    line = "vast: warning: the maze is damp"
    if to_file:
        assert (tmp_path / "errors").read_text() == f"{line}\n"
        assert line.encode() not in shown
    else:
        assert f"{line}\r\n".encode() in shown
        assert shown.index(line.encode()) < shown.rindex(b"60 of 60 steps")
