"""A pool of workers on a Ray cluster: every run is cut into legs, each of them a plain task.

This process is the only one that writes the directory of the grid, and the only one that tries
again. A node that is lost costs the legs that ran on it. The files of a checkpoint never change:
each is put into Ray's object store once, and Ray carries it to a node when a leg there needs it.
"""

import os
import socket
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vast.errors import UserError
from vast.experiments.config import RunConfig
from vast.experiments.forks import fork
from vast.experiments.grids.directory import Grid, GridRun, is_done, run_directory_of, saved_steps
from vast.experiments.grids.leg import (
    LEFT_OUT,
    Files,
    Leg,
    do_leg,
    drop_old_files,
    write_files,
)
from vast.experiments.grids.pool import Attempt, described
from vast.experiments.run_directory import CONFIG, drop_probes, versions
from vast.extras import importing
from vast.training.checkpoint import CHECKPOINT
from vast.training.manifest import DATA_FILE, read_manifest

LEG_SECONDS = 300.0
CONNECT_SECONDS = 5.0
"""how long a cluster may take to answer at all"""
FETCH_SECONDS = 600.0
"""for the files of a run to reach a node, or to come back"""
GRACE_SECONDS = 600.0
"""beyond its time, for a leg to start, load, finish and save; then it counts as lost"""
LOCAL = "local"


@dataclass
class Going:
    """A run that is being done."""

    run: GridRun
    began: float
    task: Any = None
    """the leg on its way"""
    submitted: float = 0.0
    legs: int = 0
    pieces: dict[str, Any] = field(default_factory=dict)
    """files of the checkpoint in the object store"""


class RayPool:
    """Runs on a Ray cluster.

    Args:
        ray: the module, connected to a cluster.
        directory: of the grid.
        grid: for the trunks of forks.
        workers: runs at a time.
        leg_seconds: how long a leg is.
    """

    def __init__(
        self,
        ray: Any,
        directory: Path,
        grid: Grid,
        workers: int,
        leg_seconds: float | None = None,
    ) -> None:
        self._directory, self._grid, self._workers = directory, grid, workers
        self._leg_seconds = leg_seconds or LEG_SECONDS
        self._going: dict[GridRun, Going] = {}
        self._stopping = False
        self._ray = ray

    def has_room(self, run: GridRun) -> bool:
        """Tell whether another run can be started now."""
        return len(self._going) < self._workers

    def start(self, run: GridRun) -> None:
        """Start the first leg of a run."""
        going = Going(run, time.time())
        self._going[run] = going
        trunk = self._grid.trunk(run)
        here = run_directory_of(self._directory, run)
        if trunk is not None and not (here / CONFIG).exists():
            fork(run_directory_of(self._directory, trunk), here, run.condition.run_config(run.seed))
        self._submit(going)

    def ended(self) -> list[Attempt]:
        """Take the legs that came back, start those that follow; return what has ended."""
        found = []
        for going in list(self._going.values()):
            attempt = self._looked_at(going)
            if attempt is not None:
                del self._going[going.run]
                found.append(attempt)
        return found

    def stop(self) -> None:
        """Interrupt the legs that are on their way, which save and come back; start no others."""
        self._stopping = True
        for going in self._going.values():
            self._ray.cancel(going.task, force=False)

    def close(self) -> None:
        """Leave the cluster; a local one ends."""
        for going in self._going.values():
            if going.task is not None:
                self._ray.cancel(going.task, force=True)
        self._ray.shutdown()

    def _submit(self, going: Going) -> None:
        run, ray = going.run, self._ray
        here = run_directory_of(self._directory, run)
        config = run.condition.run_config(run.seed)
        if saved_steps(here) < run.steps:
            # A leg returns files, and removes none.
            drop_probes(here)
        leg = Leg(
            config,
            run.condition.probes,
            self._leg_seconds,
            versions(),
            _own_map(here, config),
        )
        # Ray gives a task as many OpenMP threads as it has cores. A process serves one leg only.
        remote = ray.remote(num_cpus=run.cores, max_retries=0, max_calls=1)(_leg_on_node)
        going.task = remote.remote(leg, self._given(going, here))
        going.submitted = time.monotonic()
        going.legs += 1

    def _given(self, going: Going, here: Path) -> list[tuple[str, Any]]:
        """Return the files of a run in the object store; what was put there before stays there."""
        found: list[tuple[str, Any]] = []
        pieces: dict[str, Any] = {}
        for path in sorted(here.rglob("*")) if here.exists() else ():
            name = path.relative_to(here)
            if not path.is_file() or not LEFT_OUT.isdisjoint(name.parts):
                continue
            known = going.pieces.get(str(name))
            stored = known if known is not None else self._ray.put(path.read_bytes())
            if DATA_FILE.fullmatch(path.name):
                pieces[str(name)] = stored
            found.append((str(name), stored))
        going.pieces = pieces
        return found

    def _looked_at(self, going: Going) -> Attempt | None:
        """Return how a run ended; None if it goes on."""
        ray = self._ray
        ready, _ = ray.wait([going.task], timeout=0)
        if not ready:
            if time.monotonic() - going.submitted > self._leg_seconds + self._late(going):
                ray.cancel(going.task, force=True)
                return self._attempt(going, "crashed", "a leg did not come back in time")
            return None
        try:
            new: Files = ray.get(going.task, timeout=FETCH_SECONDS)
        except ray.exceptions.RayTaskError as error:
            cause = error.cause if isinstance(error.cause, BaseException) else error
            mistake = isinstance(cause, UserError)
            return self._attempt(going, "mistake" if mistake else "crashed", _line(cause))
        except ray.exceptions.TaskCancelledError:
            return self._attempt(going, "interrupted", "it was stopped before it began")
        except ray.exceptions.RayError as error:
            # The node or the process was lost, and the leg with it.
            return self._attempt(going, "crashed", _line(error))
        going.task = None
        here = run_directory_of(self._directory, going.run)
        write_files(here, new)
        drop_old_files(here, {part.file for part in read_manifest(here / CHECKPOINT).files})
        if is_done(self._directory, going.run):
            return self._attempt(going, "done", None)
        if self._stopping:
            return self._attempt(going, "interrupted", None)
        self._submit(going)
        return None

    def _late(self, going: Going) -> float:
        """Return how much longer than its time a leg may take; it may wait for a free node."""
        return GRACE_SECONDS * (1 + len(self._going))

    def _attempt(self, going: Going, outcome: Any, error: str | None) -> Attempt:
        details = {**described(going.began), "legs": going.legs}
        return Attempt(going.run, outcome, error, details)


def connected(address: str, cores: int) -> Any:
    """Connect to a Ray cluster, or start one on this machine; return the module `ray`.

    UserError if there is none at the address, or if Ray is not installed.
    """
    # Before the import: no statistics on how Ray is used are sent anywhere.
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    with importing("ray", "--ray"):
        import ray
        import ray.exceptions
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "error"}
    if address == LOCAL:
        options |= {"num_cpus": cores, "include_dashboard": False}
    else:
        _require_somebody(address)
    try:
        ray.init(address=address, **options)
    except (ConnectionError, RuntimeError, ValueError, TimeoutError) as error:
        raise UserError(f"cannot use the Ray cluster {address!r}: {_line(error)}") from error
    return ray


def _require_somebody(address: str) -> None:
    """Raise UserError unless something answers at an address; Ray itself tries for minutes."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        raise UserError(f"--ray must be 'local' or the address HOST:PORT, got {address!r}")
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or error
        raise UserError(f"no Ray cluster answers at {address}: {why}") from error


def _leg_on_node(leg: Leg, given: list[tuple[str, Any]]) -> Files:
    """Do a leg, as a task of Ray."""
    import ray

    def fetch() -> Files:
        stored = [reference for _, reference in given]
        content = ray.get(stored, timeout=FETCH_SECONDS)
        return {name: bytes(part) for (name, _), part in zip(given, content, strict=True)}

    return do_leg(leg, fetch)


def _own_map(here: Path, config: RunConfig) -> bytes | None:
    """Return the map file of a run that has not begun; later it is among the run's files."""
    if config.wad is None or (here / CONFIG).exists():
        return None
    try:
        return Path(config.wad).read_bytes()
    except OSError as error:
        raise UserError(f"cannot read the map file {config.wad}: {error.strerror}") from error


def _line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
