"""The overview of a grid: a live table in a terminal, lines elsewhere."""

import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from vast.experiments.grids.directory import GridRun, run_directory_of
from vast.experiments.grids.estimate import Speeds
from vast.experiments.run_directory import METRICS
from vast.training.progress import UNSEEN, duration, standard_console

if TYPE_CHECKING:
    from vast.experiments.grids.scheduler import Progress

LIVE_SECONDS, PLAIN_SECONDS = 1.0, 60.0
"""between two updates of the table, and between two lines"""
TAIL, LAST = 16_384, 10
"""bytes at the end of a log that hold its last rows, and how many of these are looked at"""


@dataclass(frozen=True)
class Position:
    """How far a run has come, by its last row of metrics."""

    step: int = 0
    wall_seconds: float = 0.0
    mean_return: float | None = None
    """of the last test epoch, if it is among the last rows"""


def position(directory: Path, run: GridRun) -> Position:
    """Return how far a run has come."""
    path = run_directory_of(directory, run) / METRICS
    try:
        with path.open("rb") as log:
            size = log.seek(0, 2)
            log.seek(max(0, size - TAIL))
            # The first line may be cut, the last one unfinished.
            rows = [json.loads(line) for line in log.read().split(b"\n")[-LAST - 1 : -1]]
        tests = [row["eval/mean_return"] for row in rows if "eval/mean_return" in row]
        return Position(rows[-1]["step"], rows[-1]["wall_seconds"], tests[-1] if tests else None)
    except (OSError, ValueError, KeyError, IndexError, TypeError):
        return Position()


class Overview:
    """Shows what is done, running, failed, and how long the rest takes."""

    def __init__(
        self,
        directory: Path,
        title: str,
        workers: int,
        speeds: Speeds,
        console: Console | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._directory, self._title, self._workers = directory, title, workers
        self._speeds = speeds
        self._console = console or standard_console()
        self._clock = clock
        self._live = (
            Live(console=self._console, auto_refresh=False)
            if self._console.is_interactive
            else None
        )
        self._due = -math.inf

    def __enter__(self) -> "Overview":
        if self._live:
            with UNSEEN:
                self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            with UNSEEN:
                self._live.stop()

    def say(self, line: str) -> None:
        """Print a line, above the table if there is one."""
        with UNSEEN:
            if self._live:
                self._console.print(line, markup=False, highlight=False, soft_wrap=True)
            else:
                print(line, file=self._console.file, flush=True)

    def update(self, progress: "Progress", *, last: bool = False) -> None:
        """Show where the grid is; mostly this only looks at the clock."""
        now = self._clock()
        if now < self._due and not last:
            return
        began = self._due == -math.inf
        self._due = now + (LIVE_SECONDS if self._live else PLAIN_SECONDS)
        positions = {run: position(self._directory, run) for run in progress.running}
        for run, at in positions.items():
            self._speeds.saw(run, at.step, at.wall_seconds)
        summary = self._summary(progress, positions)
        if self._live:
            with UNSEEN:
                table = [self._table(positions)] if positions else []
                self._live.update(Group(Text(summary), *table), refresh=True)
        elif last or not began:
            self.say(summary)

    def _summary(self, progress: "Progress", positions: dict[GridRun, Position]) -> str:
        n = len(progress.done) + len(progress.running) + len(progress.waiting)
        parts = [
            f"{self._title}: {len(progress.done)} of {n + len(progress.failed)} runs done",
            f"{len(progress.running)} running",
            f"{len(progress.failed)} failed",
        ]
        left = self.seconds_left(progress.waiting, positions)
        if left is not None and not progress.is_over:
            parts.append(f"about {duration(left)} left")
        return ", ".join(parts)

    def seconds_left(
        self, waiting: Sequence[GridRun], positions: dict[GridRun, Position]
    ) -> float | None:
        """Return how long the rest takes; None if the speed of some run is unknown."""
        total = longest = 0.0
        steps = {run: position(self._directory, run).step for run in waiting}
        steps |= {run: at.step for run, at in positions.items()}
        for run, step in steps.items():
            each = self._speeds.seconds_per_step(run)
            if each is None:
                return None
            # What comes before a fork is done by its trunk.
            left = max(0, run.steps - max(step, run.condition.begins)) * each
            total += left
            longest = max(longest, left)
        return max(longest, total / max(1, self._workers))

    def _table(self, positions: dict[GridRun, Position]) -> Table:
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        for name in ("running", "", "steps", "left", "return"):
            table.add_column(name, justify="left" if name == "running" else "right")
        for run, at in positions.items():
            each = self._speeds.seconds_per_step(run)
            left = "" if each is None else duration((run.steps - at.step) * each)
            seen = "" if at.mean_return is None else f"{at.mean_return:.2f}"
            bar: Any = ProgressBar(total=run.steps, completed=at.step, width=24)
            table.add_row(run.name, bar, f"{at.step:,} of {run.steps:,}", left, seen)
        return table
