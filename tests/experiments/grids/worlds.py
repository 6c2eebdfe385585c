"""Small grids, and what must be the same in two directories of them."""

import json
import signal
import subprocess
import time
from pathlib import Path

from tests.experiments.sameness import assert_same, started
from vast.experiments.grids.directory import attempts, read_grid
from vast.experiments.lock import LOCK

FORKED = """
[grid]
tasks = ["plus-maze"]
seeds = [0]
preset = "debug"
steps = 500
probes = ["tree"]

[arms.vast]
agent = "vast"

[arms.plain]
agent = "vast"
set = { extensions = [], "model.n_bits" = 12 }
forks = []

[forks]
at = 350
same = []
reversed = ["350:reverse"]
"""
VECTOR = """
[grid]
tasks = ["t-maze-2d"]
seeds = [0, 1]
preset = "debug"
steps = 2000
probes = ["tree"]

[arms.vast]
agent = "vast"
"""


def written(folder: Path, text: str, name: str = "my.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def grid_process(spec: Path, out: Path, *options: str) -> subprocess.Popen[str]:
    return started("grid", spec, "--out", out, "--save-seconds", "0.1", *options)


def wait_for_save(process: subprocess.Popen[str], run: Path, step: int = 1) -> None:
    """Wait until a run was saved at a step, or later."""
    saves = run / "checkpoints.jsonl"
    while True:
        assert process.poll() is None, process.communicate()
        lines = saves.read_text().splitlines() if saves.exists() else []
        if lines and json.loads(lines[-1])["step"] >= step:
            return
        time.sleep(0.005)


def trainer_of(run: Path) -> int:
    """Return the process that trains in a run directory."""
    return int(json.loads((run / LOCK).read_text())["pid"])


def wait_for_attempt(grid: Path) -> None:
    """Wait until the driver has seen an attempt end."""
    while not any(attempts(grid)):
        time.sleep(0.005)


def killed(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL


def assert_same_grids(one: Path, other: Path) -> None:
    """Two grids ended with the same files, but for clocks."""
    assert (one / "grid.json").read_bytes() == (other / "grid.json").read_bytes()
    runs = {run.name: run for run in read_grid(one).runs()}
    for grid in (one, other):
        assert {path.name for path in (grid / "runs").iterdir()} == runs.keys()
    for name, run in runs.items():
        a, b = one / "runs" / name, other / "runs" / name
        files = [
            {path.name for path in here.iterdir()} - {"events", "checkpoint"} for here in (a, b)
        ]
        clockless = {"config.json", *(["probes.json"] if run.condition.probes else [])}
        assert files[0] == files[1] == clockless | {"metrics.jsonl", "checkpoints.jsonl"}
        for file in clockless:
            assert (a / file).read_bytes() == (b / file).read_bytes()
        assert_same(a, b)
