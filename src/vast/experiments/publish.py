"""Record a grid's results in the package: all metrics of each finished run, compressed.

    python -m vast.experiments.publish grids/fig3-cpu     # to src/vast/results/fig3-cpu/

One file per run, so that results can be added as they come. `vast.experiments.results` reads them.
"""

from pathlib import Path
from typing import Annotated

import tyro

from vast.errors import UserError
from vast.experiments.grids.directory import GridRun, is_done, read_grid, run_directory_of
from vast.experiments.results import RECORD_FILE, load_run, packed, published
from vast.files import atomic_write


def publish(directory: Path, to: Path) -> tuple[list[GridRun], list[GridRun]]:
    """Write the records of the finished runs of a grid; return these, and the unfinished ones."""
    grid = read_grid(directory)
    folder = to / f"{grid.name}-{grid.scale}"
    done: list[GridRun] = []
    left: list[GridRun] = []
    for run in grid.runs():
        (done if is_done(directory, run) else left).append(run)
    for run in done:
        content = packed(load_run(run_directory_of(directory, run), run.condition))
        path = folder / f"{run.name}{RECORD_FILE}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with atomic_write(path) as unfinished:
                unfinished.write_bytes(content)
        except OSError as error:
            raise UserError(f"cannot write {path}: {error.strerror}") from error
    return done, left


def main(
    grids: Annotated[tyro.conf.Positional[tuple[Path, ...]], tyro.conf.arg(help="directories")],
    to: Annotated[Path | None, tyro.conf.arg(help="where to; by default into the package")] = None,
) -> None:
    """Record the finished runs of grids."""
    target = to or Path(str(published()))
    for directory in grids:
        try:
            done, left = publish(directory, target)
        except UserError as error:
            raise SystemExit(f"{error}") from error
        size = sum(path.stat().st_size for path in target.rglob(f"*{RECORD_FILE}"))
        print(f"{directory}: recorded {len(done)} runs, {len(left)} are not finished")
        print(f"{target} has {size / 1e6:.2f} MB of records")


if __name__ == "__main__":
    tyro.cli(main)
