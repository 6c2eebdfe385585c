"""Checkpoints: one folder that switches atomically from one moment of a run to the next.

Files are written under new names and never changed. The manifest that names them is replaced last:
until then the previous checkpoint is intact. Frames are most of the bytes and never change, so each
save adds only the new ones, and drops files whose frames are all evicted.
"""

import contextlib
import os
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from vast.errors import UserError
from vast.files import atomic_write
from vast.training.manifest import (
    MANIFEST,
    OWN_FILE,
    ForeignManifest,
    Manifest,
    Part,
    Piece,
    check_files,
    read_manifest,
)
from vast.training.protocol import FrameStore, StateDict
from vast.training.state_file import read_state, write_state

CHECKPOINT = "checkpoint"
"""the directory of a checkpoint within that of a run"""
PIECE = 5000
"""frames per file at most; a file is in memory as a whole while it is written or read"""


@dataclass(frozen=True)
class SaveStats:
    """What a save wrote, for a log."""

    seconds: float
    bytes_written: int
    bytes_total: int
    """of the whole checkpoint"""
    frames_written: int


class Checkpoint:
    """A folder that holds the latest checkpoint of one agent.

    A save adds to the frames that this object wrote or loaded, and replaces everything that another
    one wrote. One process at a time may save.
    """

    def __init__(self, folder: Path, *, piece: int = PIECE) -> None:
        self.folder = Path(folder)
        self.piece = piece
        self._known: Manifest | None = None

    def exists(self) -> bool:
        """Return whether there is a checkpoint, intact or not."""
        return (self.folder / MANIFEST).is_file()

    def load(self) -> tuple[StateDict, Iterator[StateDict]]:
        """Return the state and the pieces of frames, oldest first, each read when it is asked for.

        UserError if anything is missing, damaged or of another version; damage within a piece is
        found when it is read.
        """
        manifest = read_manifest(self.folder)
        check_files(self.folder, manifest)
        state = self._read(manifest.state)
        self._known = manifest
        return state, (self._read(piece) for piece in manifest.pieces)

    def save(self, state: StateDict, frames: FrameStore | None = None) -> SaveStats:
        """Replace the checkpoint by this state and its frames.

        UserError if it cannot be written; the previous checkpoint is then intact.
        """
        began = time.perf_counter()
        before = self._before()
        written: list[Part] = []
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            manifest = self._write(state, frames, self._continued(before, frames), written)
            text = manifest.to_json()
            with atomic_write(self.folder / MANIFEST) as unfinished:
                with unfinished.open("w", encoding="utf-8") as file:
                    file.write(text)
                    file.flush()
                    os.fsync(file.fileno())
                # The switch must not reach the disk before the names of what it points to.
                _sync_folder(self.folder)
            _sync_folder(self.folder)
        except BaseException as error:
            self._remove(written)
            if not isinstance(error, OSError):
                raise
            intact = "; the previous checkpoint is intact" if before else ""
            raise UserError(f"cannot write {self.folder}: {error.strerror}{intact}") from error
        self._known = manifest
        self._sweep(manifest)
        return SaveStats(
            seconds=time.perf_counter() - began,
            bytes_written=sum(part.size for part in written) + len(text),
            bytes_total=sum(part.size for part in manifest.files) + len(text),
            frames_written=sum(part.count for part in written if isinstance(part, Piece)),
        )

    def _before(self) -> Manifest | None:
        """Return the present manifest if all its files are there; UserError if it is not ours."""
        try:
            manifest = read_manifest(self.folder)
            check_files(self.folder, manifest)
        except ForeignManifest:
            raise
        except UserError:
            return None
        return manifest

    def _continued(self, before: Manifest | None, frames: FrameStore | None) -> Manifest | None:
        """Return the present manifest if these frames continue it."""
        if before is None or before != self._known or frames is None or frames.end < before.end:
            return None
        return before

    def _write(
        self,
        state: StateDict,
        frames: FrameStore | None,
        before: Manifest | None,
        written: list[Part],
    ) -> Manifest:
        """Write the new files, and return the new manifest."""
        lineage, save = (before.lineage, before.save + 1) if before else (secrets.token_hex(8), 1)
        oldest, end = (frames.oldest, frames.end) if frames else (0, 0)
        pieces = [piece for piece in before.pieces if piece.end > oldest] if before else []
        at = max(pieces[-1].end if pieces else 0, oldest)
        while frames and at < end:
            count = min(self.piece, end - at)
            part = self._write_part(f"frames-{at:09d}", frames.frames_since(at, count))
            pieces.append(Piece(part.file, part.size, at, count))
            written.append(pieces[-1])
            at += count
        written.append(self._write_part(f"state-{save:06d}", state))
        return Manifest(lineage, save, written[-1], oldest, end, tuple(pieces))

    def _write_part(self, name: str, content: StateDict) -> Part:
        path = self.folder / f"{name}-{secrets.token_hex(4)}.npz"
        try:
            with path.open("xb") as file:
                write_state(file, content)
                file.flush()
                os.fsync(file.fileno())
                size = file.tell()
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        return Part(path.name, size)

    def _read(self, part: Part) -> StateDict:
        path = self.folder / part.file
        try:
            return read_state(path)
        except OSError as error:
            raise UserError(f"cannot read {path}: {error.strerror}") from error
        except ValueError as error:
            raise UserError(f"checkpoint {self.folder}: {part.file}: {error}") from error

    def _remove(self, written: list[Part]) -> None:
        """Remove the files of a save that failed, unless it failed after the switch."""
        with contextlib.suppress(UserError):
            named = {part.file for part in read_manifest(self.folder).files}
            written = [part for part in written if part.file not in named]
        for part in written:
            with contextlib.suppress(OSError):
                (self.folder / part.file).unlink(missing_ok=True)

    def _sweep(self, manifest: Manifest) -> None:
        """Remove files that do not belong to the checkpoint, such as those of killed saves."""
        named = {part.file for part in manifest.files}
        with contextlib.suppress(OSError):
            for path in list(self.folder.iterdir()):
                if OWN_FILE.fullmatch(path.name) and path.name not in named:
                    path.unlink(missing_ok=True)


def checkpoint_in(directory: Path) -> Path:
    """Return the checkpoint of a run directory; a directory that is none is returned as it is."""
    inside = directory / CHECKPOINT
    return inside if inside.is_dir() else directory


@contextlib.contextmanager
def checkpoint_errors(folder: Path) -> Iterator[None]:
    """Turn what goes wrong while a state is loaded into one line."""
    try:
        yield
    except UserError:
        raise
    except KeyError as error:
        raise UserError(f"checkpoint {folder}: {error.args[0]!r} is missing") from error
    except (ValueError, TypeError) as error:
        raise UserError(f"checkpoint {folder} does not fit: {error}") from error


def _sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on disk, where the system can do so."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
