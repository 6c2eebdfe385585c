"""Doing a grid: on this machine, on a Ray cluster, or one job of it for Slurm."""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from vast.checks import at_least
from vast.errors import UserError, unknown
from vast.experiments.figures import experiment_named, scales_of
from vast.experiments.forks import fork, reuse
from vast.experiments.grids.directory import (
    Grid,
    GridRun,
    is_done,
    is_grid,
    note_attempt,
    read_grid,
    run_directory_of,
    saved_steps,
    write_grid,
)
from vast.experiments.grids.estimate import Speeds
from vast.experiments.grids.overview import Overview
from vast.experiments.grids.pool import LocalPool, Pool, described
from vast.experiments.grids.scheduler import Progress, Scheduler
from vast.experiments.lock import locked
from vast.experiments.own_map import hashed
from vast.experiments.spec import Condition, Experiment
from vast.experiments.spec_file import read_experiment
from vast.training.plain import to_plain
from vast.training.signals import STOPPING, deferred_signals

TOML, OWN = ".toml", "own"
"""what a file of the user's own ends with, and the scale that its grids have"""


def grid_of(
    experiment: Experiment,
    scale: str,
    seeds: Sequence[int] = (),
    arms: Sequence[str] = (),
    tasks: Sequence[str] = (),
    steps: int | None = None,
) -> Grid:
    """Return the runs of an experiment; if given, with other seeds or steps, or only some."""
    if steps is not None:
        at_least(1, steps=steps)
        same = {name: replace(arm, steps=None) for name, arm in experiment.arms.items()}
        experiment = replace(experiment, steps=steps, arms=same)
    conditions = only(experiment.conditions(), arms, tasks)
    if seeds:
        conditions = [replace(condition, seeds=tuple(seeds)) for condition in conditions]
    hashes = (replace(each, config=hashed(each.config)) for each in conditions)
    return Grid(experiment.name, scale, tuple(hashes))


def only(
    conditions: Iterable[Condition], arms: Sequence[str], tasks: Sequence[str]
) -> list[Condition]:
    """Return the conditions of these arms and tasks, forks included; of all, if none is given."""
    found = list(conditions)
    for field, names in (("arm", arms), ("task", tasks)):
        there = list(dict.fromkeys(getattr(each, field) for each in found))
        for name in names:
            if name not in there:
                raise unknown(field, name, there)
        found = [each for each in found if not names or getattr(each, field) in names]
    return found


def wanted(
    what: str,
    scale: str | None = None,
    seeds: Sequence[int] = (),
    arms: Sequence[str] = (),
    tasks: Sequence[str] = (),
    steps: int | None = None,
    out: Path | None = None,
) -> tuple[Path, Grid]:
    """Return the directory and the grid that `vast grid WHAT` stands for.

    WHAT is an experiment's name, a TOML file, or the directory of a grid that was begun.
    """
    path = Path(what)
    if is_grid(path) or (path.is_dir() and not what.endswith(TOML)):
        for option, value in (("--scale", scale), ("--steps", steps), ("--out", out)):
            if value is not None:
                raise UserError(f"{option} must not be given with the directory of a grid")
        return path, _again(path, seeds, arms, tasks)
    if what.endswith(TOML):
        if scale is not None:
            raise UserError(f"--scale must not be given with {what}, which says the preset")
        grid = grid_of(read_experiment(path), OWN, seeds, arms, tasks, steps)
        return out or Path("grids", path.stem), grid
    scales_of(what)
    experiment = experiment_named(what, scale or "cpu")
    grid = grid_of(experiment, scale or "cpu", seeds, arms, tasks, steps)
    return out or Path("grids", f"{experiment.name}-{grid.scale}"), grid


def _again(path: Path, seeds: Sequence[int], arms: Sequence[str], tasks: Sequence[str]) -> Grid:
    grid = read_grid(path)
    chosen = only(grid.conditions, arms, tasks)
    conditions = (
        replace(each, seeds=tuple(seed for seed in each.seeds if not seeds or seed in seeds))
        for each in chosen
    )
    asked = replace(grid, conditions=tuple(conditions))
    if not asked.runs():
        there = sorted({seed for each in chosen for seed in each.seeds})
        raise UserError(
            f"--seeds must be among {', '.join(map(str, there))}, which {path} has, got "
            f"{', '.join(map(str, seeds))}"
        )
    return asked


def require_no_fewer(directory: Path, asked: Grid) -> None:
    """Raise UserError if a grid that was begun has more steps than it is asked to have."""
    before = read_grid(directory).conditions if is_grid(directory) else ()
    there = {condition.key: condition.config.steps for condition in before}
    for condition in asked.conditions:
        steps = there.get(condition.key, 0)
        if condition.config.steps < steps:
            raise UserError(
                f"--steps must be {steps} or more, which {condition.name} in {directory} has, got "
                f"{condition.config.steps}; or choose another --out"
            )


def found_elsewhere(
    directory: Path, runs: Iterable[GridRun], others: Iterable[Path]
) -> dict[str, tuple[int, Path]]:
    """Return which runs, not begun here, other grids have: up to which step, and where.

    Every field of the config is the same, whatever the arm is called, but for the number of steps:
    no schedule depends on it, so that a shorter run is the beginning of a longer one.
    """
    finished: dict[str, list[tuple[int, Path]]] = {}
    for other in others:
        for run in read_grid(other).runs():
            if is_done(other, run):
                there = run.steps, run_directory_of(other, run)
                finished.setdefault(_but_for_steps(run), []).append(there)
    found = {}
    for run in runs:
        fitting = [pair for pair in finished.get(_but_for_steps(run), ()) if pair[0] <= run.steps]
        if fitting and not run_directory_of(directory, run).exists():
            found[run.name] = max(fitting)
    return found


def take_over(directory: Path, runs: Sequence[GridRun], others: Iterable[Path]) -> list[str]:
    """Copy the finished runs of other grids that runs here are, or begin with; say so in lines."""
    found = found_elsewhere(directory, runs, others)
    said = []
    for run in runs:
        if run.name not in found:
            continue
        steps, trained = found[run.name]
        here = run_directory_of(directory, run)
        if steps == run.steps:
            reuse(trained, here)
            said.append(f"{run.name}: taken over")
        else:
            fork(trained, here, run.condition.run_config(run.seed))
            said.append(f"{run.name}: taken over up to step {steps:,}")
    return said


def _but_for_steps(run: GridRun) -> str:
    """Return the config of a run as text, without its number of steps."""
    config = replace(run.condition.run_config(run.seed), steps=1)
    return json.dumps(to_plain(config, full=True))


@contextmanager
def joined(
    directory: Path, grid: Grid, reused: Sequence[Path] = ()
) -> Iterator[tuple[Grid, list[GridRun]]]:
    """Lock a directory and add a grid to what is there; yield all of it, and the runs asked for.

    What another call asked for stays in the grid, and is not done now.
    """
    with locked(directory):
        whole = write_grid(directory, grid)
        there = {run.name: run for run in whole.runs()}
        runs = [there[run.name] for run in grid.runs()]
        for line in take_over(directory, runs, reused):
            print(line, flush=True)
        yield whole, runs


def do_grid(
    directory: Path,
    grid: Grid,
    workers: int,
    *,
    ray: str | None = None,
    save_seconds: float | None = None,
    leg_seconds: float | None = None,
    reused: Sequence[Path] = (),
) -> tuple[Progress, bool]:
    """Do all runs of a grid that are not finished; tell whether it was interrupted."""
    runs = grid.runs()
    for condition in grid.conditions:
        condition.config.require_parts()
    cluster = None
    if ray is not None:
        from vast.experiments.grids.ray_pool import RayPool, connected

        cluster = connected(ray, workers * max(run.cores for run in runs))
    with joined(directory, grid, reused) as (whole, runs):
        pool: Pool
        if cluster is None:
            pool = LocalPool(directory, workers, save_seconds)
        else:
            pool = RayPool(cluster, directory, whole, workers, leg_seconds)
        title = f"{grid.name} ({grid.scale})"
        overview = Overview(directory, title, workers, Speeds())
        with deferred_signals(*STOPPING) as interrupted, overview:
            try:
                progress = Scheduler(directory, whole, runs, pool, overview).run(interrupted)
            finally:
                pool.close()
    return progress, interrupted() and not progress.is_over


def do_chain(
    directory: Path, chain: Sequence[GridRun], grid: Grid, save_seconds: float | None = None
) -> bool:
    """Do a run and its forks in this process, one after the other; return False if interrupted."""
    import time

    from vast.experiments.grids.worker import work

    for run in chain:
        if is_done(directory, run):
            continue
        began = time.time()
        outcome = "crashed"
        try:
            done = work(directory, grid, run, save_seconds=save_seconds)
            outcome = "done" if done else "interrupted"
        except UserError:
            outcome = "mistake"
            raise
        finally:
            step = saved_steps(run_directory_of(directory, run))
            entry = {"run": run.name, **described(began), "outcome": outcome, "step": step}
            note_attempt(directory, entry)
        if not done:
            return False
    return True
