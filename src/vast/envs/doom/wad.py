"""The WAD file format: reading and writing a directory of named lumps of bytes."""

import mmap
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from vast.errors import UserError

HEADER = struct.Struct("<4sii")
"""magic, number of lumps, where the directory begins"""
ENTRY = struct.Struct("<ii8s")
"""offset, size and name of a lump"""
NAME_LENGTH = 8
"""the longest name in the format"""


@dataclass(frozen=True)
class Lump:
    """A directory entry: the name of a range of bytes."""

    name: str
    offset: int
    size: int


class Wad:
    """The lumps of a WAD."""

    def __init__(self, data: bytes | mmap.mmap, name: str) -> None:
        self.name = name
        """its name in errors"""
        self._data = memoryview(data)
        if bytes(self._data[:4]) not in (b"IWAD", b"PWAD") or len(self._data) < HEADER.size:
            raise UserError(f"a WAD must begin with IWAD or PWAD, got {name}")
        _, count, start = HEADER.unpack_from(self._data)
        end = start + ENTRY.size * count
        if count < 0 or not HEADER.size <= start <= end <= len(self._data):
            raise UserError(f"{name} is a damaged WAD: its directory is outside the file")
        self.lumps = [
            Lump(lump.split(b"\0")[0].decode("latin-1").upper(), offset, size)
            for offset, size, lump in ENTRY.iter_unpack(self._data[start:end])
        ]
        for lump in self.lumps:
            if min(lump.offset, lump.size) < 0 or lump.offset + lump.size > len(self._data):
                raise UserError(f"{name} is a damaged WAD: lump {lump.name} is outside the file")
        self._by_name = {lump.name: lump for lump in self.lumps}

    @classmethod
    def open(cls, path: str | Path) -> "Wad":
        """Open a WAD file; its lumps are read on demand."""
        try:
            with Path(path).open("rb") as file:
                return cls(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), str(path))
        except OSError as error:
            raise UserError(f"cannot read the WAD {path}: {error.strerror}") from error
        except ValueError as error:
            if isinstance(error, UserError):
                raise
            raise UserError(
                f"a WAD must begin with IWAD or PWAD, got {path}: it is empty"
            ) from error

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    def bytes_of(self, lump: Lump | str) -> bytes:
        """Return a lump's bytes; if several have the same name, the last one, as in the engine."""
        entry = self._by_name[lump] if isinstance(lump, str) else lump
        return bytes(self._data[entry.offset : entry.offset + entry.size])

    def between(self, first: str, last: str) -> list[Lump]:
        """Return the lumps between two markers, such as F_START and F_END."""
        names = [lump.name for lump in self.lumps]
        return self.lumps[names.index(first) + 1 : names.index(last)]


def wad_bytes(lumps: Iterable[tuple[str, bytes]]) -> bytes:
    """Return a PWAD that holds these named lumps in this order."""
    body = bytearray()
    directory = bytearray()
    count = 0
    for name, data in lumps:
        if not 0 < len(name) <= NAME_LENGTH:
            raise UserError(f"lump name must have 1 to {NAME_LENGTH} characters, got {name!r}")
        directory += ENTRY.pack(HEADER.size + len(body), len(data), name.encode("ascii"))
        body += data
        count += 1
    return HEADER.pack(b"PWAD", count, HEADER.size + len(body)) + bytes(body + directory)
