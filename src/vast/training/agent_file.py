"""A trained agent as one file to share: a zip archive of a run's files, with sizes and hashes.

Whoever opens such a file may not know who wrote it. Nothing in it is code, and nothing is unpacked
that a run directory does not have: names are taken from a short list, sizes are declared and not
exceeded, contents must have their SHA-256, and no member is a link.
"""

import hashlib
import io
import json
import os
import re
import shutil
import stat
import zipfile
import zlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from vast.errors import UserError
from vast.files import atomic_write
from vast.training.checkpoint import CHECKPOINT, Checkpoint, checkpoint_in
from vast.training.manifest import DATA_FILE, MANIFEST, Manifest, Part, manifest_from
from vast.training.protocol import StateDict
from vast.training.state_file import read_state

SUFFIX = ".vast"
FORMAT, VERSION = "vast agent", 1
NAMES = re.compile(rf"[a-z]+\.[a-z]+|{CHECKPOINT}/(manifest\.json|{DATA_FILE.pattern})")
"""of members: plain names, and those of a checkpoint"""
CHUNK = 1 << 20
MOST_MANIFEST = 1 << 20
MOST_BYTES = 1 << 40
"""larger than any run; a size beyond this is a mistake, or malice"""

Content = bytes | Path


def write_agent_file(path: Path, about: Mapping[str, Any], members: Mapping[str, Content]) -> int:
    """Write the members, and the manifest that describes them; return the size of the file."""
    files: dict[str, dict[str, Any]] = {}
    with (
        atomic_write(path) as unfinished,
        zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        for name, content in members.items():
            assert NAMES.fullmatch(name), name
            with _opened(content) as source, _member(archive, name) as member:
                size, digest = 0, hashlib.sha256()
                while chunk := source.read(CHUNK):
                    digest.update(chunk)
                    size += len(chunk)
                    member.write(chunk)
            files[name] = {"size": size, "sha256": digest.hexdigest()}
        manifest = {"format": FORMAT, "version": VERSION, **about, "files": files}
        with _member(archive, MANIFEST) as member:
            member.write((json.dumps(manifest, indent=1) + "\n").encode())
    return path.stat().st_size


class AgentFile:
    """An opened file, whose members are checked as they are read.

    `beside` are the files that it may hold beside a checkpoint; None: any, which are not read.
    UserError if it is not such a file, damaged, or holds what it must not.
    """

    def __init__(self, path: Path, beside: Collection[str] | None = None) -> None:
        self.path = path
        self._beside = beside
        try:
            with _damage(path), zipfile.ZipFile(path) as archive:
                members = archive.infolist()
                manifest = self._manifest(archive, members)
        except OSError as error:
            raise UserError(f"cannot read {path}: {error.strerror or error}") from error
        self.about: Mapping[str, Any] = manifest
        self.sizes = _declared(path, manifest)
        self._check_members(members)

    def extract(self, folder: Path) -> None:
        """Write all members into an empty folder; UserError as soon as one is wrong."""
        total = sum(self.sizes.values())
        free = shutil.disk_usage(folder).free
        if total > free:
            raise UserError(f"{self.path} needs {total} bytes, got {free} free in {folder.parent}")
        (folder / CHECKPOINT).mkdir()
        with _damage(self.path), zipfile.ZipFile(self.path) as archive:
            for name in self.sizes:
                with (folder / name).open("xb") as target:
                    self._copy(archive, name, target)

    def load(self) -> tuple[StateDict, Iterator[StateDict]]:
        """Return the state and the pieces of frames, as `Checkpoint.load` does; nothing is written.

        Each piece is read, and checked, when it is asked for.
        """
        manifest = manifest_from(self._read(MANIFEST), Path(self.path, CHECKPOINT))
        self.check_parts(manifest)

        def state_in(part: Part) -> StateDict:
            file = io.BytesIO(self._read(part.file))
            check_stored(self.path, part.file, file)
            try:
                return read_state(file)
            except ValueError as error:
                raise UserError(f"{self.path}: {part.file}: {error}") from error

        return state_in(manifest.state), (state_in(piece) for piece in manifest.pieces)

    def check_parts(self, manifest: Manifest) -> None:
        """Raise UserError unless the file holds exactly the parts of a checkpoint."""
        there = {name: size for name, size in self.sizes.items() if name.endswith(".npz")}
        if there != {f"{CHECKPOINT}/{part.file}": part.size for part in manifest.files}:
            raise UserError(f"{self.path} is damaged: its checkpoint is not complete")

    def _manifest(
        self, archive: zipfile.ZipFile, members: list[zipfile.ZipInfo]
    ) -> Mapping[str, Any]:
        found = [member for member in members if member.filename == MANIFEST]
        if len(found) != 1 or found[0].file_size > MOST_MANIFEST or not _is_plain(found[0]):
            raise UserError(f"{self.path} must be an agent that `vast export` wrote")
        with archive.open(found[0]) as member:
            content = json.loads(member.read(MOST_MANIFEST + 1))
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise UserError(f"{self.path} must be an agent that `vast export` wrote")
        if content.get("version") != VERSION:
            raise UserError(
                f"{self.path} must have format version {VERSION}, got {content.get('version')!r}"
            )
        return content

    def _check_members(self, members: list[zipfile.ZipInfo]) -> None:
        names = [member.filename for member in members if member.filename != MANIFEST]
        for member in members:
            name = member.filename
            if name != MANIFEST and not self._may_hold(name):
                raise UserError(f"{self.path}: {name[:80]!r} does not belong into an agent's file")
            mode = member.external_attr >> 16
            if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
                raise UserError(f"{self.path}: {name} must be a regular file, got a link or device")
            if not _is_plain(member):
                raise UserError(f"{self.path}: {name} must be stored or deflated")
            if name != MANIFEST and member.file_size != self.sizes.get(name):
                raise UserError(
                    f"{self.path}: {name} must have {self.sizes.get(name)} bytes, as its manifest "
                    f"says, got {member.file_size}"
                )
        if sorted(names) != sorted(self.sizes):
            raise UserError(f"{self.path}: its files must be those of its manifest, each once")

    def _may_hold(self, name: str) -> bool:
        expected = self._beside is None or "/" in name or name in self._beside
        return expected and NAMES.fullmatch(name) is not None

    def _read(self, part: str) -> bytes:
        """Return a file of the checkpoint."""
        name, memory = f"{CHECKPOINT}/{part}", _memory()
        if self.sizes[name] > memory:
            raise UserError(
                f"{self.path}: {name} must fit into memory, of {memory} bytes, got "
                f"{self.sizes[name]} declared"
            )
        content = io.BytesIO()
        with _damage(self.path), zipfile.ZipFile(self.path) as archive:
            self._copy(archive, name, content)
        return content.getvalue()

    def _copy(self, archive: zipfile.ZipFile, name: str, target: IO[bytes]) -> None:
        """Copy a member, no more than its declared size, and compare its hash."""
        left, digest = self.sizes[name], hashlib.sha256()
        with archive.open(name) as member:
            # A byte more than declared, to notice that there is more.
            while chunk := member.read(min(CHUNK, left + 1)):
                left -= len(chunk)
                if left < 0:
                    raise UserError(f"{self.path}: {name} is longer than its manifest says")
                digest.update(chunk)
                target.write(chunk)
        if left or digest.hexdigest() != self.about["files"][name]["sha256"]:
            raise UserError(f"{self.path}: {name} must have the SHA-256 of its manifest: damaged")


def load_saved(path: Path) -> tuple[StateDict, Iterator[StateDict], Path]:
    """Return state and frames of a run, of a checkpoint or of a file, and where they are."""
    if path.is_file():
        return *AgentFile(path).load(), path
    folder = checkpoint_in(path)
    return *Checkpoint(folder).load(), folder


def check_stored(path: Path, name: str, file: IO[bytes] | Path) -> None:
    """Raise UserError if an archive of arrays is compressed: it could be larger than it says."""
    with _damage(path), zipfile.ZipFile(file) as archive:
        if any(member.compress_type != zipfile.ZIP_STORED for member in archive.infolist()):
            raise UserError(f"{path}: the arrays in {name} must not be compressed")


def _is_plain(member: zipfile.ZipInfo) -> bool:
    """Tell whether a member is stored or deflated, which `zipfile` reads in bounded memory."""
    return member.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def _memory() -> int:
    """Return the bytes of memory that this machine has, if it tells."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return MOST_BYTES


def _declared(path: Path, manifest: Mapping[str, Any]) -> dict[str, int]:
    """Return the sizes that a manifest declares, checked."""
    sizes: dict[str, int] = {}
    files = manifest.get("files")
    for name, entry in files.items() if isinstance(files, dict) else ():
        size = entry.get("size") if isinstance(entry, dict) else None
        if type(size) is not int or size < 0 or not isinstance(entry.get("sha256"), str):
            raise UserError(f"{path} is damaged: its manifest is not complete")
        sizes[name] = size
    if sum(sizes.values()) > MOST_BYTES:
        raise UserError(
            f"{path} must hold at most {MOST_BYTES} bytes, got {sum(sizes.values())} declared"
        )
    if not {"config.json", f"{CHECKPOINT}/{MANIFEST}"} <= sizes.keys():
        raise UserError(f"{path} is damaged: its manifest is not complete")
    return sizes


@contextmanager
def _damage(path: Path) -> Iterator[None]:
    """Turn what damaged bytes make of a zip archive and of JSON into one line."""
    try:
        yield
    except UserError:
        raise
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        KeyError,
        NotImplementedError,
        MemoryError,
        RuntimeError,  # encrypted, or JSON nested too deeply
        ValueError,
    ) as error:
        raise UserError(f"{path} is damaged, or no agent that `vast export` wrote") from error


@contextmanager
def _opened(content: Content) -> Iterator[IO[bytes]]:
    if isinstance(content, bytes):
        yield io.BytesIO(content)
    else:
        with content.open("rb") as file:
            yield file


def _member(archive: zipfile.ZipFile, name: str) -> IO[bytes]:
    """Return a new member, without a date: the same run gives the same file."""
    info = zipfile.ZipInfo(name)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = (stat.S_IFREG | 0o644) << 16
    return archive.open(info, "w", force_zip64=True)
