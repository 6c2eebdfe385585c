"""The installed wheel works outside the repository; without the extras, for one's own worlds."""

import json
import re
import signal
import subprocess
from pathlib import Path
from urllib.request import urlopen

import pytest

import vast
from tests.distribution.installation import Installation
from vast.extras import EXTRAS
from vast.tasks import TASKS

pytestmark = pytest.mark.slow

FROM_PYTHON = """
import vast
from vast import VaST
from vast.errors import UserError

agent = VaST("CartPole-v1", preset="debug").learn(300, progress=False)
assert len(agent.table) > 0
agent.close()
print(vast.__file__)
import gymnasium

for make in (
    lambda: gymnasium.make("vast/PlusMaze-v0"),
    lambda: VaST("vast/PlusMaze-v0"),
    lambda: gymnasium.make("vast/PongRAM-v0"),
    lambda: vast.MFEC("CartPole-v1"),
    lambda: VaST("ale_py:ALE/Breakout-v5"),
):
    try:
        make()
    except UserError as error:
        print(error)
"""
GRID = """
[grid]
tasks = ["gym:CartPole-v1"]
seeds = [0]
preset = "debug"
steps = 100

[arms.vast]
agent = "vast"
"""
MISSING = {
    "train plus-maze": "the task plus-maze requires ViZDoom: pip install 'vast-rl[doom]'",
    "train mine.maze": "the task mine.maze requires ViZDoom: pip install 'vast-rl[doom]'",
    "train pong --agent lsh": "the task pong requires the Arcade Learning Environment: "
    "pip install 'vast-rl[atari]'",
    "train gym:CartPole-v1 --agent nec": "the index 'inverted' requires faiss: "
    "pip install 'vast-rl[nec]'",
    "grid fig6": "the task plus-maze requires ViZDoom: pip install 'vast-rl[doom]'",
    "grid own.toml --ray local": "--ray requires Ray: pip install 'vast-rl[ray]'",
    "maze show mine.maze": "a Doom maze requires ViZDoom: pip install 'vast-rl[doom]'",
}
"""what cannot be done without the extras -> the line about it"""
COMMANDS = """
import sys
from vast.cli import main

for words in sys.argv[1:]:
    try:
        main(words.split())
    except SystemExit as stop:
        print(stop.code)
"""
"""does several commands in one process, and prints their exit codes"""


def said(done: "subprocess.CompletedProcess[str]") -> str:
    """Return what a command said that succeeded."""
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_it_trains_draws_a_figure_and_writes_a_report(full: Installation, tmp_path: Path) -> None:
    assert said(full.run(tmp_path, "vast-rl", "--version")) == f"vast {vast.__version__}\n"
    where = said(full.run(tmp_path, "python", "-c", "import vast; print(vast.__file__)"))
    assert Path(where.strip()).is_relative_to(full.folder)
    said(full.run(tmp_path, "vast", "train", "t-maze", "--preset", "debug", "--out", "run"))
    said(full.run(tmp_path, "vast", "report", "run"))
    said(full.run(tmp_path, "vast", "figure", "fig3", "--out", "figures"))
    assert "</html>" in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert (tmp_path / "figures" / "fig3.png").stat().st_size > 10_000


def test_a_plain_installation_serves_ones_own_environments(
    plain: Installation, tmp_path: Path
) -> None:
    train = ("vast", "train", "gym:CartPole-v1", "--preset", "debug", "--out", "run")
    said(plain.run(tmp_path, *train))
    config = (tmp_path / "run" / "config.json").read_text(encoding="utf-8")
    versions = json.loads(config)["versions"]
    assert versions["vast-rl"] == vast.__version__
    assert not {"vizdoom", "ale-py"} & versions.keys()
    said(plain.run(tmp_path, "vast", "report", "run"))
    (tmp_path / "own.toml").write_text(GRID, encoding="utf-8")
    said(plain.run(tmp_path, "vast", "grid", "own.toml", "--out", "grid", "--workers", "1"))
    assert "<title>" in explored(plain, tmp_path / "run")
    film = plain.run(tmp_path, "vast", "play", "run", "--out", "film.gif")
    assert (film.returncode, film.stderr.count("\n")) == (2, 1)
    assert "cannot be filmed: pygame is not installed, run `pip" in film.stderr
    assert not list(tmp_path.glob("film*"))


def explored(installation: Installation, run: Path) -> str:
    """Return the page that `vast explore` serves, which an interrupt then ends."""
    command = [str(installation.folder / "bin" / "vast"), "explore", str(run), "--no-open"]
    with subprocess.Popen(
        command, env=installation.variables(), cwd=run.parent, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            with urlopen(process.stdout.readline().strip()) as page:
                html: str = page.read().decode()
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 0
        finally:
            process.kill()
    return html


def test_what_a_plain_installation_lacks_gets_one_line_and_changes_nothing(
    plain: Installation, tmp_path: Path
) -> None:
    (tmp_path / "own.toml").write_text(GRID, encoding="utf-8")
    (tmp_path / "mine.maze").write_text("map OPEN\nroom 0,0 128,128\n", encoding="utf-8")
    before = sorted(tmp_path.rglob("*"))
    done = plain.run(tmp_path, "python", "-c", COMMANDS, *MISSING)
    assert done.stdout.splitlines() == ["2"] * len(MISSING)
    assert done.stderr.splitlines() == [f"vast: {line}" for line in MISSING.values()]
    assert sorted(tmp_path.rglob("*")) == before


def test_python_gets_the_same_lines(plain: Installation, tmp_path: Path) -> None:
    file, *lines = said(plain.run(tmp_path, "python", "-c", FROM_PYTHON)).splitlines()
    assert Path(file).is_relative_to(plain.folder)
    doom = "requires ViZDoom: pip install 'vast-rl[doom]'"
    atari = "requires the Arcade Learning Environment: pip install 'vast-rl[atari]'"
    assert lines == [
        f"a Doom environment {doom}",
        f"a Doom environment {doom}",
        f"an Atari environment {atari}",
        "the index 'inverted' requires faiss: pip install 'vast-rl[nec]'",
        f"the environment ale_py:ALE/Breakout-v5 {atari}",
    ]


def test_tasks_are_listed_with_the_extras_they_require(plain: Installation, tmp_path: Path) -> None:
    listed = said(plain.run(tmp_path, "vast", "tasks"))
    lines = {line.split()[0]: line for line in listed.splitlines()}
    for name, task in TASKS.items():
        assert (re.findall(r"\[(\w+)\]$", lines[name]) or [None]) == [task.extra]
    for extra in ("doom", "atari", "nec"):
        line = f"{EXTRAS[extra].software}, pip install 'vast-rl[{extra}]'"
        assert lines[f"[{extra}]"].endswith(line)
