"""The progress of a run: a live display in a terminal, a line now and then elsewhere."""

import contextlib
import math
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

Stats = Mapping[str, float | str]

LIVE_SECONDS = 0.2
PLAIN_SECONDS = 10.0
"""time between two updates of the display, and between two lines"""
RECENT_SECONDS = 30.0
"""over which speed is measured"""
BESIDE = " | "


class Progress:
    """Shows steps, speed, time left and statistics of the run; used in a `with` statement.

    Args:
        console: where to show it; standard output by default.
        clock: returns seconds.
    """

    def __init__(
        self, console: Console | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        if console is None:
            # FORCE_COLOR and the like would otherwise have it redraw into a file.
            console = Console(force_interactive=None if sys.stdout.isatty() else False)
        self._console = console
        self._clock = clock
        self._live = Live(console=console, auto_refresh=False) if console.is_interactive else None
        self._wait = LIVE_SECONDS if self._live else PLAIN_SECONDS
        self._due = -math.inf
        self._last: tuple[int, int, Stats | Callable[[], Stats]] | None = None
        self._shown: int | None = None
        self._speed = Speed()

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_: object) -> None:
        if self._last is not None and self._last[0] != self._shown:
            self._show(self._clock(), *self._last)
        if self._live:
            self._live.stop()

    def update(
        self, step: int, total: int, stats: Stats | Callable[[], Stats] | None = None
    ) -> None:
        """Show where the run is. Call it every step: mostly it only looks at the clock.

        `stats` are looked at, or called, only when they are shown.
        """
        self._last = (step, total, {} if stats is None else stats)
        now = self._clock()
        self._speed.pass_to(now, step)
        if now < self._due:
            return
        began = self._due == -math.inf
        self._due = now + self._wait
        if self._live:
            self._live.start()
        elif began:
            # There is nothing to show yet.
            self._speed.add(now, step)
            return
        self._show(now, *self._last)

    def say(self, line: str) -> None:
        """Print a line, above the live display if there is one."""
        if self._live:
            self._console.print(line, markup=False, highlight=False, soft_wrap=True)
        else:
            self._print(line)

    def _show(self, now: float, step: int, total: int, stats: Stats | Callable[[], Stats]) -> None:
        self._shown = step
        self._speed.add(now, step)
        known = stats() if callable(stats) else stats
        steps = BESIDE.join(_steps(step, total, self._speed.per_second))
        others = BESIDE.join(f"{name} {_words(known[name])}" for name in known)
        if self._live is None:
            self._print(BESIDE.join(part for part in (steps, others) if part))
            return
        top = Table.grid(expand=True, padding=(0, 1))
        top.add_column(ratio=1)
        top.add_column(no_wrap=True, overflow="ellipsis")
        top.add_row(ProgressBar(total=max(total, 1), completed=min(step, total)), Text(steps))
        self._live.update(Group(top, Text(others)), refresh=True)

    def _print(self, line: str) -> None:
        # A closed pipe, as in `| head`, is no reason to stop a run.
        with contextlib.suppress(BrokenPipeError):
            print(line, file=self._console.file, flush=True)


class Speed:
    """Environment steps per second of this process, over the last half minute.

    Time without environment steps, as in a burst of training, says nothing about the steps to come
    and is left out.
    """

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque()
        self._last: tuple[float, int] | None = None
        self._left_out = 0.0

    def pass_to(self, now: float, step: int) -> None:
        """See an update."""
        if self._last is not None and step == self._last[1]:
            self._left_out += now - self._last[0]
        self._last = now, step

    def add(self, now: float, step: int) -> None:
        """See an update at which the speed is shown."""
        counted = now - self._left_out
        self._seen.append((counted, step))
        # One update before the half minute stays, so that it is covered.
        while len(self._seen) > 2 and self._seen[1][0] <= counted - RECENT_SECONDS:
            self._seen.popleft()

    @property
    def per_second(self) -> float | None:
        """The speed; None while it is unknown."""
        if not self._seen:
            return None
        (then, first), (now, last) = self._seen[0], self._seen[-1]
        # The first step may have loaded and compiled everything.
        return (last - first) / (now - then) if now > then and last > first + 1 else None


def _steps(step: int, total: int, per_second: float | None) -> list[str]:
    parts = [f"{step:,} of {total:,} steps"]
    if per_second is not None:
        parts.append(f"{_words(per_second)} steps/s")
        if step < total:
            parts.append(f"{_duration((total - step) / per_second)} left")
    return parts


def _words(value: float | str) -> str:
    if isinstance(value, str):
        return value
    if not math.isfinite(value):
        return "-"
    return f"{value:,.0f}" if isinstance(value, int) or abs(value) >= 100 else f"{value:.3g}"


def _duration(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
