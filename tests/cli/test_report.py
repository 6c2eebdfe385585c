"""`vast report` and `vast play` on a small run: what they write, and that it stays as it is."""

import hashlib
import re
import subprocess
from pathlib import Path

import gymnasium
import imageio_ffmpeg
import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image, ImageSequence

from vast.cli import main
from vast.training.metrics import read_metrics

pytestmark = pytest.mark.slow

STEPS = 12


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "small"
    main(["train", "t-maze", "--preset", "debug", "--out", str(folder)])
    return folder


def content(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_a_report_is_one_file_and_leaves_the_run_alone(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = content(folder)
    main(["report", str(folder)])
    out = folder / "report.html"
    *_, said, last = capsys.readouterr().out.splitlines()
    assert last == f"wrote {out}"
    assert "observations of the run had" in said
    written = content(folder)
    assert written.keys() - before.keys() == {"report.html"}
    assert {name: written[name] for name in before} == before

    page = out.read_text(encoding="utf-8")
    assert said.replace("'", "&#x27;") in page
    assert f"{read_metrics(folder / 'metrics.jsonl')[-1]['step']:,}</dd>" in page
    assert "settings.planning.discount" in page
    assert "the values along the run" in page  # Fig. 1C, D
    # Nothing is asked of the network or of other files.
    assert {text[:5] for text in re.findall(r'src="([^"]+)"', page)} == {"data:"}
    assert "<script" not in page
    without = re.sub(r'src="[^"]+"', "", page)
    assert "http://" not in without
    assert "https://" not in without


def test_a_report_on_what_is_no_run_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments, message in (
        (
            [str(tmp_path)],
            f"vast: {tmp_path} is not a run directory: there is no {tmp_path / 'config.json'}\n",
        ),
        ([], "vast: report needs one run directory or more\n"),
    ):
        with pytest.raises(SystemExit) as stop:
            main(["report", *arguments])
        assert stop.value.code == 2
        assert capsys.readouterr().err == message
    assert not list(tmp_path.iterdir())


def first_picture() -> NDArray[np.uint8]:
    """What an episode of the T-maze begins with; all begin alike."""
    env = gymnasium.make("vast/TMaze-v0", render_mode="rgb_array")
    env.reset(seed=0)
    picture = env.render()
    env.close()
    assert isinstance(picture, np.ndarray)
    return picture


def looks_like(frame: NDArray[np.uint8], picture: NDArray[np.uint8]) -> bool:
    difference = np.abs(frame.astype(float) - picture)
    return frame.shape == picture.shape and float(difference.mean()) < 12


def test_a_video_shows_the_episode_from_its_start(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "episode.mp4"
    main(["play", str(folder), "--out", str(out), "--steps", str(STEPS)])
    first = first_picture()
    read = [imageio_ffmpeg.get_ffmpeg_exe(), "-i", str(out), "-f", "rawvideo", "-pix_fmt", "rgb24"]
    pixels = subprocess.run([*read, "-"], capture_output=True, check=True).stdout
    frames = np.frombuffer(pixels, np.uint8).reshape(-1, *first.shape)
    assert len(frames) == STEPS + 1
    assert looks_like(frames[0], first)


def test_a_gif_shows_the_same_for_as_long(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "episode.gif"
    main(["play", str(folder), "--out", str(out), "--steps", str(STEPS)])
    with Image.open(out) as film:
        assert looks_like(np.array(film.convert("RGB")), first_picture())
        # Pictures that are alike are stored once, and shown for longer.
        durations = [frame.info["duration"] for frame in ImageSequence.Iterator(film)]
    assert sum(durations) == pytest.approx((STEPS + 1) * 4000 / 35, rel=0.05)
