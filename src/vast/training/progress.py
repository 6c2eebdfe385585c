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
UNSEEN = contextlib.suppress(OSError)
"""a closed pipe, as in `| head`, a terminal that was closed and a full disk are no reason to stop a
run"""


class Progress:
    """Shows steps, speed, time left and statistics of the run; used in a `with` statement.

    Args:
        console: where to show it; standard output by default.
        clock: returns seconds.
    """

    def __init__(
        self, console: Console | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._console = console = console or standard_console()
        self._clock = clock
        self._live: Live | None = None
        if console.is_interactive:
            # What goes to stderr meanwhile is shown above the display; a file gets it as it is.
            shared = sys.stderr.isatty()
            self._live = Live(console=console, auto_refresh=False, redirect_stderr=shared)
        self._wait = LIVE_SECONDS if self._live else PLAIN_SECONDS
        self._due = -math.inf
        self._last: tuple[int, int, Stats | Callable[[], Stats], int] | None = None
        self._shown: int | None = None
        self._speed = Speed()
        self._burst = BurstSpeed()

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_: object) -> None:
        if self._last is not None and self._last[0] != self._shown:
            self._show(self._clock(), *self._last)
        if self._live:
            with UNSEEN:
                self._live.stop()

    def update(
        self,
        step: int,
        total: int,
        stats: Stats | Callable[[], Stats] | None = None,
        burst_left: int = 0,
    ) -> None:
        """Show where the run is. Call it every step: mostly it only looks at the clock.

        `stats` are looked at, or called, only when they are shown. `burst_left` are the training
        steps of a burst that is still to come, or is going on; the time left counts them.
        """
        self._last = (step, total, {} if stats is None else stats, burst_left)
        now = self._clock()
        self._speed.pass_to(now, step)
        self._burst.pass_to(now, burst_left)
        if now < self._due:
            return
        began = self._due == -math.inf
        self._due = now + self._wait
        if self._live:
            with UNSEEN:
                self._live.start()
        elif began:
            # There is nothing to show yet.
            self._speed.add(now, step)
            return
        self._show(now, *self._last)

    def say(self, line: str) -> None:
        """Print a line, above the live display if there is one."""
        if self._live:
            with UNSEEN:
                self._console.print(line, markup=False, highlight=False, soft_wrap=True)
        else:
            self._print(line)

    def _show(
        self,
        now: float,
        step: int,
        total: int,
        stats: Stats | Callable[[], Stats],
        burst_left: int,
    ) -> None:
        self._shown = step
        self._speed.add(now, step)
        known = stats() if callable(stats) else stats
        left = _left(step, total, self._speed.per_second, burst_left, self._burst.per_second)
        steps = BESIDE.join([*_steps(step, total, self._speed.per_second), *left])
        others = BESIDE.join(f"{name} {_words(known[name])}" for name in known)
        if self._live is None:
            self._print(BESIDE.join(part for part in (steps, others) if part))
            return
        top = Table.grid(expand=True, padding=(0, 1))
        top.add_column(ratio=1)
        top.add_column(no_wrap=True, overflow="ellipsis")
        top.add_row(ProgressBar(total=max(total, 1), completed=min(step, total)), Text(steps))
        with UNSEEN:
            self._live.update(Group(top, Text(others)), refresh=True)

    def _print(self, line: str) -> None:
        with UNSEEN:
            print(line, file=self._console.file, flush=True)


def standard_console() -> Console:
    """Return a console on standard output."""
    # FORCE_COLOR and the like would otherwise have it redraw into a file.
    return Console(force_interactive=None if sys.stdout.isatty() else False)


def is_watched() -> bool:
    """Tell whether a person is likely to see standard output: in a terminal or a notebook."""
    return sys.stdout.isatty() or Console().is_jupyter


class BurstSpeed:
    """Training steps per second within a burst."""

    def __init__(self) -> None:
        self._first: tuple[float, int] | None = None
        self._last: tuple[float, int] | None = None

    def pass_to(self, now: float, left: int) -> None:
        """See an update, with so many training steps left."""
        if self._last is not None and left < self._last[1]:
            self._first = self._first or self._last
        self._last = now, left

    @property
    def per_second(self) -> float | None:
        """The speed; None while it is unknown."""
        if self._first is None or self._last is None or self._last[0] <= self._first[0]:
            return None
        return (self._first[1] - self._last[1]) / (self._last[0] - self._first[0])


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
    return parts


def _left(
    step: int, total: int, per_second: float | None, burst_left: int, burst_speed: float | None
) -> list[str]:
    """Return the time left, and what it cannot count yet."""
    parts = []
    if per_second is not None and step < total:
        seconds = (total - step) / per_second
        if burst_left and burst_speed:
            seconds += burst_left / burst_speed
        parts.append(f"{duration(seconds)} left")
    if burst_left and not burst_speed:
        parts.append(f"then a burst of {burst_left:,} training steps")
    elif burst_left:
        parts.append(f"in a burst of training, {burst_left:,} steps left of it")
    return parts


def _words(value: float | str) -> str:
    if isinstance(value, str):
        return value
    if not math.isfinite(value):
        return "-"
    return f"{value:,.0f}" if isinstance(value, int) or abs(value) >= 100 else f"{value:.3g}"


def duration(seconds: float) -> str:
    """Return a time as hours, minutes and seconds."""
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
