"""`vast play` and `vast tasks`."""

from pathlib import Path

import imageio_ffmpeg
import pytest
from PIL import Image

from tests.experiments.sameness import vast


def test_tasks_agents_and_presets_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    vast("tasks")
    words = capsys.readouterr().out.split()
    for name in ("t-maze", "t-maze-2d", "large-maze", "h-maze", "plus-maze", "pong"):
        assert name in words
    assert {"vast", "paper", "cpu", "debug"} <= set(words)


@pytest.mark.slow
def test_a_greedy_episode_is_filmed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run"
    vast("train", "t-maze", "--preset", "debug", "--steps", "120", "--out", run)
    capsys.readouterr()
    for name in ("film.mp4", "film.gif"):
        vast("play", run, "--out", tmp_path / name, "--steps", "6")
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(": ")[0] for line in lines] == [
        f"wrote {tmp_path / name}" for name in ("film.mp4", "film.gif")
    ]
    assert lines[0].split(": ")[1] == lines[1].split(": ")[1]
    with Image.open(tmp_path / "film.gif") as film:
        # GIF joins pictures that are the same into one that lasts longer.
        assert 1 <= film.n_frames <= 7  # type: ignore[attr-defined]
        assert film.size == (640, 480)
    assert imageio_ffmpeg.count_frames_and_secs(str(tmp_path / "film.mp4"))[0] == 7
