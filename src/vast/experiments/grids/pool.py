"""What the scheduler knows of a pool of workers; and the pool of processes on this machine."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, Literal, Protocol

from vast.errors import UserError
from vast.experiments.grids.directory import LOGS, GridRun
from vast.experiments.grids.worker import BUSY, DONE, INTERRUPTED, MISTAKE

Outcome = Literal["done", "interrupted", "mistake", "busy", "crashed"]
"""of an attempt; busy: another process was at the run, perhaps one whose driver was killed"""
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)


@dataclass(frozen=True)
class Attempt:
    """One attempt at a run, which has ended."""

    run: GridRun
    outcome: Outcome
    error: str | None = None
    details: dict[str, Any] = field(default_factory=dict)
    """for attempts.jsonl: when it began, how long it took, where"""


class Pool(Protocol):
    """Something that does runs, several at a time."""

    def has_room(self, run: GridRun) -> bool:
        """Tell whether another run can be started now."""
        ...

    def start(self, run: GridRun) -> None:
        """Start a run, or go on with it."""
        ...

    def ended(self) -> list[Attempt]:
        """Return the attempts that have ended since the last call."""
        ...

    def stop(self) -> None:
        """Ask all runs to save and to stop."""
        ...

    def close(self) -> None:
        """Wait until all have ended."""
        ...


class LocalPool:
    """Processes on this machine, one per run, each with cores of its own.

    A worker ends when its standard input is closed. So it saves and ends as well if this process
    is killed.
    """

    def __init__(self, directory: Path, workers: int, save_seconds: float | None = None) -> None:
        self._directory = directory
        self._save_seconds = save_seconds
        self._free: list[int] = list(range(workers))
        self._workers = workers
        self._running: dict[GridRun, Worker] = {}

    def has_room(self, run: GridRun) -> bool:
        """Tell whether another run can be started now."""
        return bool(self._free)

    def start(self, run: GridRun) -> None:
        """Start a run in a process of its own."""
        slot = self._free.pop(0)
        cores = cores_of(slot, self._workers, run.cores)
        self._running[run] = Worker(self._directory, run, slot, cores, self._save_seconds)

    def ended(self) -> list[Attempt]:
        """Return the attempts that have ended since the last call."""
        found = []
        for run, worker in list(self._running.items()):
            attempt = worker.ended()
            if attempt is not None:
                del self._running[run]
                self._free = sorted([*self._free, worker.slot])
                found.append(attempt)
        return found

    def stop(self) -> None:
        """Ask all runs to save and to stop."""
        for worker in self._running.values():
            worker.stop()

    def close(self) -> None:
        """Wait until all have ended."""
        self.stop()
        for worker in self._running.values():
            worker.process.wait()


class Worker:
    """A process that does one run."""

    def __init__(
        self,
        directory: Path,
        run: GridRun,
        slot: int,
        cores: Sequence[int],
        save_seconds: float | None,
    ) -> None:
        self.run, self.slot = run, slot
        self._began = time.time()
        self._log = directory / LOGS / f"{run.name}.txt"
        words = [sys.executable, "-m", "vast.experiments.grids.worker", str(directory), run.name]
        words += [] if save_seconds is None else [str(save_seconds)]
        try:
            self._log.parent.mkdir(parents=True, exist_ok=True)
            with self._log.open("ab") as output:
                self._from = output.tell()
                self.process = subprocess.Popen(
                    words,
                    stdin=subprocess.PIPE,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    env=environment(run.cores),
                    # Ctrl-C in the terminal goes to this process, which asks the workers to stop.
                    start_new_session=True,
                )
        except OSError as error:
            raise UserError(f"cannot start {run.name}: {error.strerror}") from error
        if cores and hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(self.process.pid, cores)

    def stop(self) -> None:
        """Ask the run to save and to stop."""
        pipe: IO[bytes] | None = self.process.stdin
        if pipe is not None and not pipe.closed:
            pipe.close()

    def ended(self) -> Attempt | None:
        """Return how the attempt ended; None if it goes on."""
        code = self.process.poll()
        if code is None:
            return None
        self.stop()
        outcomes: dict[int, Outcome] = {
            DONE: "done",
            INTERRUPTED: "interrupted",
            MISTAKE: "mistake",
            BUSY: "busy",
        }
        outcome = outcomes.get(code, "crashed")
        error = None if outcome == "done" else self._last_line(code)
        return Attempt(self.run, outcome, error, {**described(self._began), "exit": code})

    def _last_line(self, code: int) -> str:
        """Return the last thing that the process said, or how it ended."""
        if code < 0:
            return f"killed by signal {-code}"
        with self._log.open("rb") as log:
            log.seek(self._from)
            lines = log.read().decode(errors="replace").split("\n")
        said = [line.strip() for line in lines if line.strip()]
        return said[-1].removeprefix("vast: ") if said else f"exit code {code}"


def described(began: float) -> dict[str, Any]:
    """Return when and where an attempt was made that ends now."""
    return {
        "began": datetime.fromtimestamp(began, UTC).isoformat(timespec="seconds"),
        "seconds": round(time.time() - began, 1),
        "host": socket.gethostname(),
    }


def environment(cores: int) -> dict[str, str]:
    """Return the environment of a worker: as many threads as it has cores."""
    return {**os.environ, **dict.fromkeys(THREAD_VARIABLES, str(cores))}


def cores_of(slot: int, workers: int, each: int) -> list[int]:
    """Return the cores of a worker; none if it need not share the machine with others."""
    if workers == 1 or not hasattr(os, "sched_getaffinity"):
        return []
    there = sorted(os.sched_getaffinity(0))
    return [there[(slot * each + core) % len(there)] for core in range(each)]


def default_workers(runs: Sequence[GridRun]) -> int:
    """Return how many runs this machine can do at a time."""
    there = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(1, (there or 1) // max((run.cores for run in runs), default=1))
