"""The scheduler: starts what is ready, retries what crashed, and knows when all is done.

A fork is ready when its trunk is finished. A run that crashed goes on from its checkpoint, at most
`RETRIES` times. A run in which another process trains is left alone until that one has ended.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from vast.experiments.grids.directory import (
    Grid,
    GridRun,
    is_done,
    note_attempt,
    run_directory_of,
    saved_steps,
)
from vast.experiments.grids.overview import Overview
from vast.experiments.grids.pool import Attempt, Pool
from vast.experiments.lock import Locked, require_unlocked

RETRIES = 3
"""of a run that crashed, per call"""
POLL_SECONDS = 0.1


@dataclass
class Progress:
    """Where each run of a grid is."""

    waiting: list[GridRun]
    """in the order in which they are started"""
    done: list[GridRun] = field(default_factory=list)
    running: list[GridRun] = field(default_factory=list)
    failed: dict[GridRun, str] = field(default_factory=dict)
    """and why"""
    attempts: dict[GridRun, int] = field(default_factory=dict)
    """in this call"""

    @property
    def is_over(self) -> bool:
        """Whether there is nothing left to do."""
        return not self.waiting and not self.running


class Scheduler:
    """Does the runs of a grid with a pool of workers."""

    def __init__(
        self, directory: Path, grid: Grid, runs: Sequence[GridRun], pool: Pool, overview: Overview
    ) -> None:
        self._directory, self._grid, self._pool, self._overview = directory, grid, pool, overview
        done = [run for run in runs if is_done(directory, run)]
        self.progress = Progress([run for run in runs if run not in done], done)

    def run(self, interrupted: Callable[[], bool]) -> Progress:
        """Do all runs; stop early, with everything saved, when asked to."""
        progress, asked = self.progress, False
        while not progress.is_over:
            for attempt in self._pool.ended():
                self._ended(attempt, asked)
            if interrupted() and not asked:
                asked = True
                self._pool.stop()
                self._overview.say("interrupted: waiting until all runs are saved")
            if asked and not progress.running:
                break
            if not asked:
                self._start()
            if not progress.is_over:
                self._overview.update(progress)
                time.sleep(POLL_SECONDS)
        self._overview.update(progress, last=True)
        return progress

    def _start(self) -> None:
        progress = self.progress
        for run in list(progress.waiting):
            if not self._is_ready(run):
                continue
            if not self._pool.has_room(run):
                return
            progress.waiting.remove(run)
            progress.running.append(run)
            progress.attempts[run] = progress.attempts.get(run, 0) + 1
            self._pool.start(run)
            at = saved_steps(run_directory_of(self._directory, run))
            self._overview.say(f"{run.name}: {f'resuming from step {at:,}' if at > 0 else 'begun'}")

    def _is_ready(self, run: GridRun) -> bool:
        """Tell whether a run can be started; one whose trunk has failed has failed as well."""
        trunk = self._grid.trunk(run)
        if trunk is not None and trunk not in self.progress.done:
            if trunk in self.progress.failed:
                self._fail(run, f"{trunk.name}, which it continues, failed")
                return False
            if not is_done(self._directory, trunk):
                return False
        try:
            require_unlocked(run_directory_of(self._directory, run))
        except Locked:
            return False
        return True

    def _ended(self, attempt: Attempt, asked: bool) -> None:
        run, progress = attempt.run, self.progress
        progress.running.remove(run)
        if attempt.outcome == "busy":
            progress.attempts[run] -= 1
            progress.waiting.insert(0, run)
            return
        step = saved_steps(run_directory_of(self._directory, run))
        entry = {"run": run.name, "attempt": progress.attempts[run], **attempt.details}
        entry |= {"outcome": attempt.outcome, "step": step}
        entry |= {} if attempt.error is None else {"error": attempt.error}
        note_attempt(self._directory, entry)
        if attempt.outcome == "done":
            progress.done.append(run)
            self._overview.say(f"{run.name}: done")
        elif asked:
            progress.waiting.insert(0, run)
        elif attempt.outcome == "mistake" or progress.attempts[run] > RETRIES:
            progress.waiting.insert(0, run)
            self._fail(run, attempt.error or attempt.outcome)
        else:
            progress.waiting.insert(0, run)
            self._overview.say(f"{run.name}: {attempt.error}; again from step {max(step, 0):,}")

    def _fail(self, run: GridRun, why: str) -> None:
        self.progress.waiting.remove(run)
        self.progress.failed[run] = why
        self._overview.say(f"{run.name}: failed: {why}")
