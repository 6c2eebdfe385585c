"""One run of a grid in this process: fork it if need be, train it, measure what is asked for.

    python -m vast.experiments.grids.worker GRID RUN [SECONDS]

The process that starts this one keeps its standard input open. When it is closed, because the run
is to stop or because that process is gone, the run saves and ends with code 130.
"""

import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from vast.errors import UserError, unknown
from vast.experiments.forks import fork
from vast.experiments.grids.directory import Grid, GridRun, is_done, read_grid, run_directory_of
from vast.experiments.lock import Locked
from vast.experiments.probes import run_probes
from vast.experiments.run_directory import CONFIG
from vast.experiments.runs import never, train

DONE, INTERRUPTED, MISTAKE, BUSY = 0, 130, 2, 75
"""exit codes; busy: another process is at it. Any other is a crash"""


def work(
    directory: Path,
    grid: Grid,
    run: GridRun,
    stop: Callable[[], bool] = never,
    save_seconds: float | None = None,
) -> bool:
    """Do a run of a grid, or what is left of it; return False if it was interrupted."""
    if is_done(directory, run):
        return True
    here = run_directory_of(directory, run)
    trunk = grid.trunk(run)
    if trunk is not None and not (here / CONFIG).exists():
        if not is_done(directory, trunk):
            raise UserError(f"{run.name} continues {trunk.name}, which must be finished first")
        fork(run_directory_of(directory, trunk), here, run.condition.run_config(run.seed))
    config = run.condition.run_config(run.seed)
    if not train(here, config, stop, save_seconds):
        return False
    run_probes(here, run.condition.probes)
    return True


def run_named(grid: Grid, name: str) -> GridRun:
    """Return a run of a grid by its name."""
    found = {run.name: run for run in grid.runs()}
    if name not in found:
        raise unknown("run", name, found)
    return found[name]


def closed_input() -> Callable[[], bool]:
    """Return a function that tells whether standard input was closed."""
    closed = threading.Event()

    def watch() -> None:
        while os.read(0, 4096):
            pass
        closed.set()

    threading.Thread(target=watch, daemon=True).start()
    return closed.is_set


def main(arguments: list[str]) -> int:
    """Do the run that the arguments name; return the exit code."""
    directory, name, *seconds = arguments
    try:
        grid = read_grid(Path(directory))
        run = run_named(grid, name)
        save_seconds = float(seconds[0]) if seconds else None
        stop = closed_input()
        done = not stop() and work(Path(directory), grid, run, stop, save_seconds)
    except Locked:
        return BUSY
    except UserError as error:
        print(f"vast: {error}", file=sys.stderr)
        return MISTAKE
    return DONE if done else INTERRUPTED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
