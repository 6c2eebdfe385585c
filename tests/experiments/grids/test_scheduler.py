"""The scheduler: what is retried, how often, and what follows from a failure."""

import io
import os
from pathlib import Path

import pytest
from rich.console import Console

from tests.experiments.grids.worlds import FORKED, written
from vast.experiments.grids.directory import Grid, GridRun, attempts, read_grid, write_grid
from vast.experiments.grids.estimate import (
    BURST,
    BYTES,
    FROZEN,
    SECONDS,
    STATE_BYTES,
    Speeds,
    estimate,
)
from vast.experiments.grids.overview import Overview
from vast.experiments.grids.pool import Attempt, Outcome, cores_of
from vast.experiments.grids.run import grid_of
from vast.experiments.grids.scheduler import RETRIES, Scheduler
from vast.experiments.grids.slurm import chains
from vast.experiments.spec_file import read_experiment


class Scripted:
    """A pool whose runs end as a script says, one at a time."""

    def __init__(self, script: dict[str, list[Outcome]]) -> None:
        self.script, self.started = script, list[str]()
        self._now: GridRun | None = None

    def has_room(self, run: GridRun) -> bool:
        return self._now is None

    def start(self, run: GridRun) -> None:
        self.started.append(run.name)
        self._now = run

    def ended(self) -> list[Attempt]:
        if self._now is None:
            return []
        run, self._now = self._now, None
        outcome = self.script.get(run.name, ["done"]).pop(0) if run.name in self.script else "done"
        return [Attempt(run, outcome, None if outcome == "done" else "why")]

    def stop(self) -> None:
        pass

    def close(self) -> None:
        pass


@pytest.fixture
def grid(tmp_path: Path) -> Grid:
    return write_grid(tmp_path / "grid", grid_of(read_experiment(written(tmp_path, FORKED)), "own"))


def scheduled(tmp_path: Path, grid: Grid, pool: Scripted, said: io.StringIO) -> Scheduler:
    folder = tmp_path / "grid"
    console = Console(file=said, force_interactive=False)
    overview = Overview(folder, "my", 1, Speeds({}), console)
    return Scheduler(folder, grid, grid.runs(), pool, overview)


def test_a_crashed_run_is_tried_again_a_bounded_number_of_times(
    tmp_path: Path, grid: Grid, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vast.experiments.grids.scheduler.POLL_SECONDS", 0)
    monkeypatch.setattr("vast.experiments.grids.scheduler.is_done", lambda *_: False)
    crashes: list[Outcome] = ["crashed"] * 10
    pool, said = Scripted({"plus-maze-vast-0": crashes}), io.StringIO()
    progress = scheduled(tmp_path, grid, pool, said).run(lambda: False)
    assert pool.started.count("plus-maze-vast-0") == 1 + RETRIES
    # Its forks cannot be done, the other arm can.
    assert {run.name for run in progress.failed} == {
        *("plus-maze-vast-0", "plus-maze-vast-same-0", "plus-maze-vast-reversed-0")
    }
    assert [run.name for run in progress.done] == ["plus-maze-plain-0"]
    assert [entry["attempt"] for entry in attempts(tmp_path / "grid")][: 1 + RETRIES] == [
        *range(1, 2 + RETRIES)
    ]
    assert said.getvalue().splitlines()[-1] == "my: 1 of 4 runs done, 0 running, 3 failed"


def test_a_mistake_is_not_tried_again_and_a_busy_run_waits(
    tmp_path: Path, grid: Grid, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vast.experiments.grids.scheduler.POLL_SECONDS", 0)
    monkeypatch.setattr("vast.experiments.grids.scheduler.is_done", lambda *_: False)
    busy: list[Outcome] = ["busy"] * 10
    pool = Scripted({"plus-maze-plain-0": ["mistake"], "plus-maze-vast-0": [*busy, "done"]})
    progress = scheduled(tmp_path, grid, pool, io.StringIO()).run(lambda: False)
    assert [run.name for run in progress.failed] == ["plus-maze-plain-0"]
    assert pool.started.count("plus-maze-plain-0") == 1
    assert pool.started.count("plus-maze-vast-0") == 11
    assert len(progress.done) == 3


def test_a_job_of_slurm_is_a_run_followed_by_its_forks(grid: Grid, tmp_path: Path) -> None:
    assert read_grid(tmp_path / "grid") == grid
    assert {name: [run.name for run in job] for name, job in chains(grid).items()} == {
        "plus-maze-vast-0": [
            "plus-maze-vast-0",
            "plus-maze-vast-same-0",
            "plus-maze-vast-reversed-0",
        ],
        "plus-maze-plain-0": ["plus-maze-plain-0"],
    }


def test_the_cost_of_a_grid_is_that_of_its_steps_tests_and_bursts(
    grid: Grid, tmp_path: Path
) -> None:
    measured = {SECONDS: 36.0, BURST: 360.0, BYTES: 10**6, STATE_BYTES: 10**9}
    speeds = Speeds({"debug": {"vast": {"t-maze": measured}}})
    found = estimate(tmp_path / "grid", grid.runs(), speeds)
    assert (found.runs, found.finished, found.steps) == (4, 0, 1000)
    # Test epochs of 50 steps at 200 of each trunk; the forks' 150 steps have room for none.
    assert found.core_hours == pytest.approx((1.1 * 36 + 2 * 360) / 3600)
    assert found.gigabytes == pytest.approx(4 + 1e6 * 1.0 / 1e9)
    assert (found.unknown, found.assumed) == ((), ("vast (debug) on plus-maze",))
    assert estimate(tmp_path / "grid", grid.runs(), Speeds({})).unknown == ("vast (debug)",)
    # Tasks with other images do not count as long as one has the same: Pong's network is larger.
    speeds = Speeds({"debug": {"vast": {"t-maze": measured, "pong": {SECONDS: 100.0, BURST: 0.0}}}})
    again = estimate(tmp_path / "grid", grid.runs(), speeds)
    assert again.core_hours == found.core_hours


def test_steps_with_a_frozen_encoder_have_a_cost_of_their_own(tmp_path: Path) -> None:
    frozen = 'agent = "vast"\nset = { "training.freeze_after" = 300 }'
    text = FORKED.partition("[arms.plain]")[0].replace('agent = "vast"', frozen)
    grid = grid_of(read_experiment(written(tmp_path, text)), "own")
    measured = {SECONDS: 36.0, FROZEN: 3.6, BURST: 0.0, BYTES: 0, STATE_BYTES: 0}
    found = estimate(tmp_path / "grid", grid.runs(), Speeds({"debug": {"vast": {"h": measured}}}))
    assert found.assumed == ("vast (debug) on plus-maze",)
    assert any("other tasks: vast (debug) on plus-maze" in line for line in found.lines(1))
    # 300 steps and a test of 50, then 200 steps and another one.
    assert found.core_hours == pytest.approx((0.35 * 36 + 0.25 * 3.6) / 3600)


def test_workers_have_cores_of_their_own() -> None:
    assert cores_of(0, 1, 1) == []
    both = [set(cores_of(slot, 2, 1)) for slot in (0, 1)]
    assert all(len(cores) == 1 for cores in both)
    if len(os.sched_getaffinity(0)) > 1:
        assert both[0] != both[1]
