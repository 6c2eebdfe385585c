"""A grid as an array of Slurm jobs, one per run; a run's forks follow it in the same job."""

import shlex
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from vast.errors import UserError, unknown
from vast.experiments.grids.directory import Grid, GridRun
from vast.files import atomic_write

SCRIPT = """\
#!/bin/bash
# The runs of {name} as an array of {n} jobs: sbatch {file}
# Submit it again to resume: finished runs end at once, others go on from their checkpoints.
#SBATCH --job-name={name}
#SBATCH --array=0-{last}
#SBATCH --ntasks=1
#SBATCH --cpus-per-task={cores}
#SBATCH --time={hours}:00:00
#SBATCH --requeue
#SBATCH --signal=B:TERM@120
#SBATCH --output={logs}/slurm-%A-%a.txt
runs=({runs})
export {threads}
run="${{runs[$SLURM_ARRAY_TASK_ID]}}"
exec {command} grid {directory} --run "$run" --save-seconds {save_seconds:g}
"""
HOURS = 24


def chains(grid: Grid) -> dict[str, list[GridRun]]:
    """Return what the jobs do, by name: each run that is no fork, followed by its forks."""
    runs = grid.runs()
    return {
        run.name: [run, *(other for other in runs if grid.trunk(other) == run)]
        for run in runs
        if run.condition.fork is None
    }


def chain_of(grid: Grid, name: str) -> list[GridRun]:
    """Return what one job does; UserError if there is no such job."""
    found = chains(grid)
    if name not in found:
        raise unknown("run", name, found)
    return found[name]


def write_slurm(
    path: Path,
    directory: Path,
    grid: Grid,
    asked: Iterable[GridRun],
    threads: Sequence[str],
    save_seconds: float,
) -> int:
    """Write the script that does these runs of a grid; return of how many jobs it consists.

    A job is known by the name of its run, which stays the same when the grid grows.
    """
    names = {run.name for run in asked}
    jobs = {
        name: chain
        for name, chain in chains(grid).items()
        if not names.isdisjoint(run.name for run in chain)
    }
    cores = max(run.cores for chain in jobs.values() for run in chain)
    logs = directory / "logs"
    text = SCRIPT.format(
        name=f"{grid.name}-{grid.scale}",
        file=path,
        n=len(jobs),
        last=len(jobs) - 1,
        runs=shlex.join(jobs),
        cores=cores,
        hours=HOURS,
        logs=logs.absolute(),
        threads=" ".join(f"{name}={cores}" for name in threads),
        command=shlex.quote(str(Path(sys.executable).with_name("vast"))),
        directory=shlex.quote(str(directory.absolute())),
        save_seconds=save_seconds,
    )
    try:
        logs.mkdir(parents=True, exist_ok=True)  # Slurm does not make it
        with atomic_write(path) as unfinished:
            unfinished.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from error
    return len(jobs)
