"""`vast grid`: all runs of an experiment."""

import sys
from pathlib import Path
from typing import Annotated

import tyro

from vast.checks import at_least
from vast.cli.arguments import Directories, Directory, File, Names, Number, Numbers, shown
from vast.errors import UserError


def grid(
    what: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="WHAT")],
    scale: Annotated[str | None, shown("cpu|paper")] = None,
    seeds: Numbers = (),
    arms: Names = (),
    tasks: Names = (),
    steps: Number = None,
    workers: Number = None,
    out: Directory = None,
    dry_run: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False,
    slurm: File = None,
    ray: Annotated[str | None, shown("ADDRESS|local")] = None,
    reuse: Directories = (),
    save_seconds: float = 60.0,
    leg_seconds: float = 300.0,
    run: Annotated[str | None, shown("NAME")] = None,
) -> None:
    """Do all runs of an experiment, several at a time; again, to resume.

    Args:
        what: a figure or another experiment of the paper, a TOML file of your own, or a grid's
            directory
        scale: cpu (the default), minutes per run, or paper, the published budgets
        seeds: instead of those of the experiment
        arms: only these of the experiment
        tasks: only these of the experiment
        steps: of every run, instead of the experiment's; without it, the same grid goes on
        workers: runs at a time; by default as many as there are cores for
        out: the directory; by default grids/NAME-SCALE
        dry_run: only say what there is to do, and what it costs
        slurm: write a script for `sbatch` that does the runs, instead of doing them
        ray: do them on a Ray cluster: its address, or local
        reuse: other grids, of which finished runs are copied, or continued if they are shorter
        save_seconds: between two checkpoints of a run
        leg_seconds: with --ray: what is lost at most when a node is lost
        run: do only this run of a grid, and its forks, in this process, as the jobs of --slurm do
    """
    from vast.experiments.grids.directory import read_grid
    from vast.experiments.grids.estimate import Speeds, estimate
    from vast.experiments.grids.pool import THREAD_VARIABLES, default_workers
    from vast.experiments.grids.run import (
        do_chain,
        do_grid,
        found_elsewhere,
        joined,
        require_no_fewer,
        wanted,
    )
    from vast.experiments.grids.slurm import chain_of, write_slurm

    if workers is not None:
        at_least(1, workers=workers)
    if save_seconds <= 0 or leg_seconds <= 0:
        raise UserError("--save-seconds and --leg-seconds must be above 0")
    directory, asked = wanted(what, scale, seeds, arms, tasks, steps, out)
    if run is not None:
        there = read_grid(directory)
        _tell_stop(do_chain(directory, chain_of(there, run), there, save_seconds), directory)
        return
    if steps is not None:
        require_no_fewer(directory, asked)
    if slurm is not None and ray is not None:
        raise UserError("--slurm and --ray must not be given together")
    runs = asked.runs()
    at_a_time = workers or default_workers(runs)
    if dry_run:
        print(f"{asked.name} ({asked.scale}) in {directory}")
        elsewhere = {
            name: steps for name, (steps, _) in found_elsewhere(directory, runs, reuse).items()
        }
        for line in estimate(directory, runs, Speeds(), elsewhere).lines(at_a_time):
            print(f"  {line}")
        return
    if slurm is not None:
        with joined(directory, asked, reuse) as (whole, runs):
            jobs = write_slurm(slurm, directory, whole, runs, THREAD_VARIABLES, save_seconds)
        print(f"wrote {slurm}: {jobs} jobs; to submit: sbatch {slurm}")
        return
    progress, interrupted = do_grid(
        directory,
        asked,
        at_a_time,
        ray=ray,
        save_seconds=save_seconds,
        leg_seconds=leg_seconds,
        reused=reuse,
    )
    _tell_stop(not interrupted, directory)
    if progress.failed:
        for failed, why in progress.failed.items():
            print(f"failed: {failed.name}: {why}", file=sys.stderr)
        print(f"to try again: vast grid {directory}; {directory}/logs says more", file=sys.stderr)
        sys.exit(1)
    print(f"done: {directory}")
    print(f"  vast compare {directory}")


def _tell_stop(finished: bool, directory: Path) -> None:
    from vast.cli.verbs import INTERRUPTED

    if not finished:
        print(f"interrupted and saved; to resume: vast grid {directory}", flush=True)
        sys.exit(INTERRUPTED)
