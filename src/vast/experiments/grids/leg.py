"""Legs: a run of a grid on another machine, a few minutes at a time.

A leg gets the files of a run directory, goes on from its checkpoint, and returns the files that are
new. Exact resume makes several legs equal to one long run. Nothing stays on the machine.
"""

import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from vast.errors import UserError
from vast.experiments import run_directory as files
from vast.experiments.config import RunConfig
from vast.experiments.lock import LOCK
from vast.experiments.own_map import copy_name
from vast.experiments.probes import run_probes
from vast.experiments.runs import train
from vast.files import atomic_write
from vast.training.checkpoint import CHECKPOINT
from vast.training.manifest import DATA_FILE, MANIFEST

Files = dict[str, bytes]
"""by their path within the run directory"""
LEFT_OUT = {LOCK, "events"}
"""what stays behind: TensorBoard's events repeat the metrics"""


@dataclass(frozen=True)
class Leg:
    """What a leg is to do."""

    config: RunConfig
    probes: tuple[str, ...]
    seconds: float
    """after which it stops and saves"""
    versions: Mapping[str, str]
    """of the machine that asks: another version might compute something else"""
    own_map: bytes | None = None
    """the map file of a run that has not begun, if it has one"""


def do_leg(leg: Leg, fetch: Callable[[], Files]) -> Files:
    """Do a leg in a directory of its own, and return the files that are new or changed.

    UserError if this machine has other versions than the one that asks.
    """
    here = files.versions()
    for name, wanted in leg.versions.items():
        if here.get(name) != wanted:
            raise UserError(
                f"{name} on node {platform.node()} must have version {wanted}, as where the grid "
                f"was started, got {here.get(name)}"
            )
    with TemporaryDirectory(prefix="vast-leg-") as place:
        directory = Path(place) / "run"
        given = fetch()
        write_files(directory, given)
        config = leg.config
        if leg.own_map is not None and config.wad is not None:
            own = Path(place) / copy_name(config.wad)
            own.write_bytes(leg.own_map)
            config = replace(config, wad=str(own))
        if train(directory, config, StopAfter(leg.seconds), leg.seconds):
            run_probes(directory, leg.probes)
        found = read_files(directory)
    return {name: content for name, content in found.items() if given.get(name) != content}


class StopAfter:
    """Tells whether so many seconds have passed since it was asked first, after the first step.

    The time that a run takes to load does not count: every leg gets somewhere.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._began: float | None = None

    def __call__(self) -> bool:
        """Tell whether the time is over."""
        now = time.monotonic()
        if self._began is None:
            self._began = now
        return now - self._began > self._seconds


def read_files(directory: Path) -> Files:
    """Return the files of a run that the next leg depends on."""
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file() and LEFT_OUT.isdisjoint(path.relative_to(directory).parts)
    }


def write_files(directory: Path, content: Mapping[str, bytes]) -> None:
    """Write the files of a run, the manifest of its checkpoint last.

    Until then the checkpoint is the one before; `checkpoints.jsonl`, which says that a run is
    finished, comes after it. A process killed in between leaves a run that can be resumed.
    """
    switch = f"{CHECKPOINT}/{MANIFEST}"
    order = {switch: 1, files.SAVES: 2, files.PROBES: 3}
    for name in sorted(content, key=lambda name: order.get(name, 0)):
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as unfinished:
            unfinished.write_bytes(content[name])


def drop_old_files(directory: Path, named: set[str]) -> None:
    """Remove the files of earlier checkpoints, which the manifest no longer names."""
    for path in (directory / CHECKPOINT).glob("*"):
        if DATA_FILE.fullmatch(path.name) and path.name not in named:
            path.unlink(missing_ok=True)
