"""A grid as an array of Slurm jobs, one per run; a run's forks follow it in the same job."""

import shlex
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from vast.errors import UserError
from vast.experiments.grids.directory import Grid, GridRun
from vast.files import atomic_write

SCRIPT = """\
#!/bin/bash
# The runs of {name} as an array of {n} jobs: sbatch {file}
# Submit it again to resume: finished runs end at once, others go on from their checkpoints.
#SBATCH --job-name={name}
#SBATCH --array={indices}
#SBATCH --ntasks=1
#SBATCH --cpus-per-task={cores}
#SBATCH --time={hours}:00:00
#SBATCH --requeue
#SBATCH --signal=TERM@120
#SBATCH --output={logs}/slurm-%A-%a.txt
export {threads}
exec {command} grid {directory} --index "$SLURM_ARRAY_TASK_ID"
"""
HOURS = 24


def chains(grid: Grid) -> list[list[GridRun]]:
    """Return what the jobs do: each run that is no fork, followed by its forks."""
    runs = grid.runs()
    return [
        [run, *(other for other in runs if grid.trunk(other) == run)]
        for run in runs
        if run.condition.fork is None
    ]


def chain_at(grid: Grid, index: int) -> list[GridRun]:
    """Return what one job of the array does; UserError if there is no such job."""
    found = chains(grid)
    if not 0 <= index < len(found):
        raise UserError(f"--index must be between 0 and {len(found) - 1}, got {index}")
    return found[index]


def write_slurm(
    path: Path, directory: Path, grid: Grid, asked: Iterable[GridRun], threads: Sequence[str]
) -> int:
    """Write the script that does these runs of a grid; return of how many jobs it consists."""
    names = {run.name for run in asked}
    jobs = {
        index: chain
        for index, chain in enumerate(chains(grid))
        if not names.isdisjoint(run.name for run in chain)
    }
    cores = max(run.cores for job in jobs.values() for run in job)
    logs = directory / "logs"
    text = SCRIPT.format(
        name=f"{grid.name}-{grid.scale}",
        file=path,
        n=len(jobs),
        indices=_ranges(list(jobs)),
        cores=cores,
        hours=HOURS,
        logs=logs.absolute(),
        threads=" ".join(f"{name}={cores}" for name in threads),
        command=shlex.quote(str(Path(sys.executable).with_name("vast"))),
        directory=shlex.quote(str(directory.absolute())),
    )
    try:
        logs.mkdir(parents=True, exist_ok=True)  # Slurm does not make it
        with atomic_write(path) as unfinished:
            unfinished.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from error
    return len(jobs)


def _ranges(indices: Sequence[int]) -> str:
    """Return ascending numbers as Slurm writes them: 0-2,5."""
    begins = [index for index in indices if index - 1 not in indices]
    ends = [index for index in indices if index + 1 not in indices]
    pairs = zip(begins, ends, strict=True)
    return ",".join(f"{begin}-{end}" if begin < end else f"{begin}" for begin, end in pairs)
