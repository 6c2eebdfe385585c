"""`vast export` and `vast import`: a run as one file, and back.

Images are most of a run, and only training needs them: they are left out unless they are asked for.
Actions, rewards, states and poses stay, and so does everything else: the agent acts, and its table
can be explored. Vectors stay: they are small, and lay out states that have no coordinates.
"""

import io
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from vast.errors import UserError
from vast.experiments import run_directory as files
from vast.experiments.config import RunConfig
from vast.experiments.own_map import COPIES, require_intact
from vast.replay.stores import without_pixels
from vast.tasks import GYM, task_named
from vast.training.agent_file import (
    SUFFIX,
    AgentFile,
    Content,
    check_stored,
    write_agent_file,
)
from vast.training.checkpoint import CHECKPOINT, Checkpoint
from vast.training.manifest import MANIFEST, Manifest, Piece, check_files, read_manifest
from vast.training.state_file import read_state, write_state

BESIDE = (files.METRICS, files.SAVES, files.PROBES, *COPIES.values())
"""what goes along if it is there"""


@dataclass(frozen=True)
class Exported:
    """What was written, or read."""

    step: int
    size: int
    """of the file, in bytes"""
    has_frames: bool
    frame_bytes: int
    """that the frames take in the run directory"""


def export_run(directory: Path, path: Path, *, with_replay: bool = False) -> Exported:
    """Write a run as one file; UserError, and nothing written, if it cannot be shared."""
    config = files.read_config(directory)
    if path.suffix != SUFFIX:
        raise UserError(f"the file of an agent must end in {SUFFIX}, got {path}")
    if config.wad is not None and config.wad_sha256 is None:
        raise UserError(f"{directory} cannot be exported: its map file {config.wad} is not in it")
    require_intact(config)
    folder = directory / CHECKPOINT
    if not Checkpoint(folder).exists():
        raise UserError(f"{directory} cannot be exported: it was never saved")
    manifest = read_manifest(folder)
    check_files(folder, manifest)
    state, _ = Checkpoint(folder).load()
    kept = with_replay or not _holds_images(state)
    members: dict[str, Content] = {files.CONFIG: directory / files.CONFIG}
    members |= {name: directory / name for name in BESIDE if (directory / name).is_file()}
    parts, described = _parts(folder, manifest, kept)
    members[f"{CHECKPOINT}/{MANIFEST}"] = described.to_json().encode()
    members |= {f"{CHECKPOINT}/{name}": content for name, content in parts.items()}
    step = int(state["agent"]["steps"])
    about = {
        "task": config.task,
        "agent": config.agent,
        "step": step,
        "frames": kept,
        "versions": files.versions(),
    }
    try:
        size = write_agent_file(path, about, members)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from error
    return Exported(step, size, kept, sum(piece.size for piece in manifest.pieces))


def import_run(path: Path, directory: Path, allowed_module: str | None = None) -> Exported:
    """Make a run directory from a file; UserError, and nothing left, if anything is wrong.

    An environment may be in a module, which is imported whenever it is made: its name must be
    allowed. Nothing else in a file is code for Python; a map may have scripts for the engine.
    """
    if directory.exists():
        raise UserError(f"{directory} exists already: choose another --out")
    file = AgentFile(path, (files.CONFIG, *BESIDE))
    with _unfinished(directory) as unfinished:
        file.extract(unfinished)
        _require_allowed(path, unfinished / files.CONFIG, allowed_module)
        config = files.read_config(unfinished)
        _require_own_map(path, config, unfinished)
        folder = unfinished / CHECKPOINT
        manifest = read_manifest(folder)
        file.check_parts(manifest)
        for part in manifest.files:
            check_stored(path, part.file, folder / part.file)
        state, pieces = Checkpoint(folder).load()
        for _ in pieces:
            pass  # each is read, and so checked
        try:
            step = int(state["agent"]["steps"])
            has_frames = bool(file.about["frames"])
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(f"{path} is damaged: its checkpoint is not complete") from error
    return Exported(step, path.stat().st_size, has_frames, sum(p.size for p in manifest.pieces))


def _require_allowed(path: Path, config: Path, allowed: str | None) -> None:
    """Raise UserError if an environment is in a module that is not allowed.

    Only the text of the config is looked at: to check its task, the environment would be made.
    """
    try:
        task = str(json.loads(config.read_text(encoding="utf-8"))["config"]["task"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return  # `read_config` says what is wrong
    module, colon, _ = task.removeprefix(GYM).rpartition(":")
    if task.startswith(GYM) and colon and module != allowed:
        raise UserError(
            f"{path}: its environment is in the module {module!r}, which would be imported: "
            f"if you trust it, use --allow-module {module}"
        )


def _parts(folder: Path, manifest: Manifest, kept: bool) -> tuple[dict[str, Content], Manifest]:
    """Return the files of a checkpoint by name, and their manifest; without images unless kept."""
    parts: dict[str, Content] = {manifest.state.file: folder / manifest.state.file}
    pieces: list[Piece] = []
    for piece in manifest.pieces:
        if kept:
            parts[piece.file] = folder / piece.file
            pieces.append(piece)
            continue
        try:
            content = without_pixels(read_state(folder / piece.file), piece.count)
        except OSError as error:
            raise UserError(f"cannot read {folder / piece.file}: {error.strerror}") from error
        except ValueError as error:
            raise UserError(f"checkpoint {folder}: {piece.file}: {error}") from error
        file = io.BytesIO()
        write_state(file, content)
        parts[piece.file] = file.getvalue()
        pieces.append(replace(piece, size=len(file.getvalue())))
    return parts, replace(manifest, pieces=tuple(pieces))


def _holds_images(state: Mapping[str, Any]) -> bool:
    """Tell whether an agent keeps images, rather than vectors or nothing."""
    replay = state["agent"].get("replay")
    return replay is not None and len(replay["shape"]) > 1


def _require_own_map(path: Path, config: RunConfig, unfinished: Path) -> None:
    """Raise UserError unless the map file of a run, if it has one, came along with it."""
    own_maze = config.own_env is None and task_named(config.task).is_own_maze
    if config.wad is None and not own_maze:
        return
    inside = [unfinished.absolute() / name for name in COPIES.values()]
    if config.wad is None or config.wad_sha256 is None or Path(config.wad) not in inside:
        got = config.wad or config.task
        raise UserError(f"{path}: the map file of its run must be in it, got {got!r}")
    require_intact(config)


@contextmanager
def _unfinished(directory: Path) -> Iterator[Path]:
    """Yield a new directory that gets its name in the end, or is removed."""
    unfinished = directory.with_name(f".{directory.name}.{os.getpid()}")
    made = [parent for parent in directory.parents if not parent.exists()]
    try:
        unfinished.mkdir(parents=True)
        yield unfinished
        unfinished.rename(directory)
    except OSError as error:
        raise UserError(f"cannot write {directory}: {error.strerror}") from error
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
        for parent in made:
            if parent.is_dir() and not any(parent.iterdir()):
                parent.rmdir()
