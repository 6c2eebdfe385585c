"""The manifest of a checkpoint: its files, and which frames are in which of them."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from vast.errors import UserError

FORMAT = "vast checkpoint"
VERSION = 2
MANIFEST = "manifest.json"
DATA_FILE = re.compile(r"(state|frames)-\d+-[0-9a-f]{8}\.npz")
OWN_FILE = re.compile(DATA_FILE.pattern + r"|\.manifest\.\d+\.json")
"""what a save writes: the data, and an unfinished manifest"""

T = TypeVar("T")


class ForeignManifest(UserError):
    """The directory belongs to something else."""


@dataclass(frozen=True)
class Part:
    """A file of a checkpoint."""

    file: str
    size: int


@dataclass(frozen=True)
class Piece(Part):
    """A file with `count` frames, of which the first has the number `first`."""

    first: int
    count: int

    @property
    def end(self) -> int:
        """The number of the frame after the last."""
        return self.first + self.count


@dataclass(frozen=True)
class Manifest:
    """What a checkpoint consists of."""

    lineage: str
    """a random name, shared by the checkpoints whose frames continue each other"""
    save: int
    """which checkpoint of its lineage this is, from 1"""
    state: Part
    oldest: int
    """the number of the oldest frame that the state needs"""
    end: int
    """the number of the frame after the newest"""
    pieces: tuple[Piece, ...]
    """the frames, oldest first"""

    @property
    def files(self) -> tuple[Part, ...]:
        """All files, but for the manifest itself."""
        return (self.state, *self.pieces)

    def to_json(self) -> str:
        """Return the text of the manifest."""
        content = {
            "format": FORMAT,
            "version": VERSION,
            "lineage": self.lineage,
            "save": self.save,
            "state": vars(self.state),
            "frames": {
                "oldest": self.oldest,
                "end": self.end,
                "pieces": [vars(piece) for piece in self.pieces],
            },
        }
        return json.dumps(content, indent=1) + "\n"


def read_manifest(folder: Path) -> Manifest:
    """Read a manifest; UserError unless it is there, intact and of this version."""
    if not folder.is_dir():
        raise UserError(f"{folder} is not a checkpoint: there is no such directory")
    try:
        text = (folder / MANIFEST).read_bytes()
    except FileNotFoundError:
        raise UserError(f"{folder} is not a checkpoint: it has no {MANIFEST}") from None
    except OSError as error:
        raise UserError(f"cannot read {folder / MANIFEST}: {error.strerror}") from error
    return manifest_from(text, folder)


def manifest_from(text: bytes, folder: Path) -> Manifest:
    """Return the manifest of a checkpoint from its text; UserError unless it is intact."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UserError(f"checkpoint {folder}: {MANIFEST} is damaged") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ForeignManifest(
            f"{folder} is not a checkpoint: its {MANIFEST} belongs to something else"
        )
    if content.get("version") != VERSION:
        raise UserError(
            f"checkpoint {folder} must have format version {VERSION}, "
            f"got version {content.get('version')!r}"
        )
    try:
        manifest = _parse(content)
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"checkpoint {folder}: {MANIFEST} is damaged") from error
    _check_frames(folder, manifest)
    return manifest


def check_files(folder: Path, manifest: Manifest) -> None:
    """Raise UserError unless all files exist, with the sizes they were written with."""
    for part in manifest.files:
        try:
            size = (folder / part.file).stat().st_size
        except FileNotFoundError:
            raise UserError(f"checkpoint {folder}: {part.file} is missing") from None
        except OSError as error:
            raise UserError(f"cannot read {folder / part.file}: {error.strerror}") from error
        if size != part.size:
            raise UserError(
                f"checkpoint {folder}: {part.file} must have {part.size} bytes, got {size}"
            )


def _parse(content: dict[str, Any]) -> Manifest:
    frames = content["frames"]
    return Manifest(
        lineage=_checked(content["lineage"], str),
        save=_checked(content["save"], int),
        state=Part(_name(content["state"]), _checked(content["state"]["size"], int)),
        oldest=_checked(frames["oldest"], int),
        end=_checked(frames["end"], int),
        pieces=tuple(
            Piece(_name(piece), *(_checked(piece[key], int) for key in ("size", "first", "count")))
            for piece in _checked(frames["pieces"], list)
        ),
    )


def _checked(value: Any, kind: type[T]) -> T:
    if type(value) is not kind:
        raise TypeError(f"{value!r} is not of type {kind.__name__}")
    return value


def _name(part: dict[str, Any]) -> str:
    name = _checked(part["file"], str)
    if not DATA_FILE.fullmatch(name):
        raise ValueError(f"{name!r} is not a file of a checkpoint")
    return name


def _check_frames(folder: Path, manifest: Manifest) -> None:
    """Raise UserError unless the pieces hold every frame from the oldest to the newest."""
    expected = min(manifest.oldest, *(piece.first for piece in manifest.pieces), manifest.end)
    for piece in manifest.pieces:
        if piece.first != expected or piece.count < 1:
            raise UserError(f"checkpoint {folder}: the frames from {expected} on are missing")
        expected = piece.end
    if expected != manifest.end:
        raise UserError(f"checkpoint {folder}: the frames from {expected} on are missing")
