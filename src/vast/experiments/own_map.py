"""A map file of the user's own belongs to the run: a copy in its directory, and its hash."""

import hashlib
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from vast.errors import UserError
from vast.experiments.config import RunConfig
from vast.experiments.run_directory import CONFIG
from vast.files import atomic_write
from vast.tasks import MAZE_FILE, task_named

COPIES = {MAZE_FILE: f"maze{MAZE_FILE}", "": "map.wad"}
"""the copy's name in the run directory, of a text maze and of anything else"""


def copy_name(wad: str) -> str:
    """Return the name that the copy of a map file has."""
    return COPIES.get(Path(wad).suffix, COPIES[""])


def hashed(config: RunConfig) -> RunConfig:
    """Return the config with the hash of its map file; UserError if it had another one."""
    require_intact(config)
    if config.wad is None or config.wad_sha256 is not None or not task_named(config.task).is_doom:
        return config
    return replace(config, wad_sha256=_sha256(Path(config.wad)))


def require_intact(config: RunConfig) -> None:
    """Raise UserError if the map file is no longer the one with which the run began."""
    if config.wad is None or config.wad_sha256 is None:
        return
    found = _sha256(Path(config.wad))
    if found != config.wad_sha256:
        raise UserError(
            f"{config.wad} must be as it was when the run began, with SHA-256 "
            f"{config.wad_sha256[:12]}..., got {found[:12]}..."
        )


@contextmanager
def map_copied(directory: Path, config: RunConfig) -> Iterator[RunConfig]:
    """Yield the config of a new run with its map file copied into the directory.

    The copy is removed if the run has not begun in the end.
    """
    if config.wad is None:
        yield config
        return
    config.make_env().close()  # errors name the file, not its copy
    copy = (directory / copy_name(config.wad)).absolute()
    try:
        with atomic_write(copy) as unfinished:
            shutil.copyfile(config.wad, unfinished)
    except OSError as error:
        raise UserError(f"cannot copy {config.wad} to {copy}: {error.strerror}") from error
    try:
        yield replace(config, wad=str(copy))
    finally:
        if not (directory / CONFIG).exists():
            copy.unlink(missing_ok=True)


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise UserError(f"cannot read the map file {path}: {error.strerror}") from error
