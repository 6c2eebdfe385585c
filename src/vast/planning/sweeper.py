"""When planning runs: inline, with a budget per call, or in a background thread, as in the paper.

Both have the same methods: `start`, `plan` once per step of the agent, and `stop`. Inline planning
is deterministic. Background planning uses another core.
"""

import atexit
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple, Protocol

from vast.planning.gate import AWAY, EMPTY, Gate, OpenGate
from vast.planning.table import TransitionTable


class Statistics(NamedTuple):
    """How much a sweeper has planned since it was started."""

    backups: int
    """backups done"""
    seconds: float
    """time spent on them"""

    @property
    def backups_per_second(self) -> float:
        """The speed while sweeping, 0 if there was nothing to sweep."""
        return self.backups / self.seconds if self.seconds > 0 else 0.0


class Sweeper(Protocol):
    """Keeps a table's values up to date by prioritized sweeping."""

    def start(self) -> None:
        """Start planning."""

    def plan(self) -> int:
        """Plan for one step of the agent; return the backups done since the last call."""

    def stop(self) -> None:
        """Stop planning."""

    @property
    def statistics(self) -> Statistics:
        """How much was planned since the start."""


class InlineSweeper:
    """Plans in the calling thread, up to a budget of backups per call of `plan`."""

    def __init__(self, table: TransitionTable, budget: int) -> None:
        if budget < 0:
            raise ValueError(f"budget must be 0 or more backups, got {budget}")
        self.table = table
        self.budget = budget
        self._statistics = Statistics(0, 0.0)

    def start(self) -> None:
        """Reset the statistics."""
        self._statistics = Statistics(0, 0.0)

    def plan(self) -> int:
        """Sweep within the budget; return the number of backups."""
        begin = time.perf_counter()
        backups = self.table.sweep(self.budget)
        seconds = time.perf_counter() - begin
        done = self._statistics
        self._statistics = Statistics(done.backups + backups, done.seconds + seconds)
        return backups

    def stop(self) -> None:
        """Do nothing: planning ends with each call of `plan`."""

    @property
    def statistics(self) -> Statistics:
        """How much was planned since the start."""
        return self._statistics


class BackgroundSweeper:
    """Plans in its own thread whenever the table is not in use.

    An error in that thread is raised in the thread that next uses the table or this sweeper.
    """

    SLICE = 4_000_000
    """backups between two returns to Python, about a tenth of a second"""
    NAP = 0.1
    """the longest time in seconds that the sweeper sleeps when the queue is empty"""

    def __init__(self, table: TransitionTable) -> None:
        self.table = table
        self._gate = Gate(lambda: table.queue_length > 0)
        self._thread: threading.Thread | None = None
        self._stopping = False
        self._may_run = threading.Event()
        self._has_paused = threading.Event()
        self._statistics = Statistics(0, 0.0)
        self._reported = 0

    def start(self) -> None:
        """Start sweeping; the table can still be used from any thread."""
        if self._thread is not None:
            raise RuntimeError("the sweeper is already running")
        self._gate = Gate(lambda: self.table.queue_length > 0)
        self.table.share(self._gate)
        self._stopping = False
        self._statistics, self._reported = Statistics(0, 0.0), 0
        self._may_run.set()
        self._thread = threading.Thread(target=self._run, name="vast-sweeper", daemon=True)
        self._thread.start()
        # A thread in compiled code must not outlive the interpreter.
        atexit.register(self.stop)

    def plan(self) -> int:
        """Return the number of backups done in the background since the last call."""
        self._gate.raise_error()
        backups = self._statistics.backups
        since, self._reported = backups - self._reported, backups
        return since

    def stop(self) -> None:
        """Stop sweeping and detach from the table; raise the thread's error, if there was one."""
        if self._thread is None:
            return
        self._stopping = True
        self._may_run.set()
        self._gate.recall()
        self._thread.join()
        self._thread = None
        self.table.share(OpenGate())
        atexit.unregister(self.stop)
        self._gate.raise_error()

    def pause(self) -> None:
        """Pause sweeping until `resume`; return once the sweeper has paused."""
        self._gate.raise_error()
        self._has_paused.clear()
        self._may_run.clear()
        while self._thread is not None and self._thread.is_alive():
            self._gate.recall()
            if self._has_paused.wait(0.01):
                break
        self._gate.raise_error()

    def resume(self) -> None:
        """Continue after `pause`."""
        self._may_run.set()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Pause for the duration of a `with` block."""
        self.pause()
        try:
            yield
        finally:
            self.resume()

    @property
    def statistics(self) -> Statistics:
        """How much was planned since the start."""
        return self._statistics

    def _run(self) -> None:
        try:
            while not self._stopping:
                if not self._may_run.is_set():
                    self._has_paused.set()
                    self._may_run.wait()
                    continue
                self._sweep_once()
        except BaseException as error:
            self._gate.error = error

    def _sweep_once(self) -> None:
        self._gate.answer_recall()
        begin = time.perf_counter()
        backups, outcome = self.table.sweep_between(self._gate, self.SLICE)
        seconds = time.perf_counter() - begin
        done = self._statistics
        if backups > 0:
            self._statistics = Statistics(done.backups + backups, done.seconds + seconds)
        if outcome == EMPTY:
            self._gate.sleep(self.NAP)
        elif outcome == AWAY:
            time.sleep(0)
