"""The WAD container: a directory of named lumps of bytes, read and written."""

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from vast.errors import UserError

HEADER = struct.Struct("<4sii")
"""magic, number of lumps, where the directory begins"""
ENTRY = struct.Struct("<ii8s")
"""where a lump's bytes begin, how many they are, its name"""
NAME_LENGTH = 8
"""the longest name the format can hold"""


@dataclass(frozen=True)
class Lump:
    """A directory entry: which bytes of the file go by which name."""

    name: str
    offset: int
    size: int


class Wad:
    """A WAD file opened for reading; a lump's bytes are read when they are asked for."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        try:
            with self.path.open("rb") as file:
                header = file.read(HEADER.size)
                if header[:4] not in (b"IWAD", b"PWAD") or len(header) < HEADER.size:
                    raise UserError(f"{self.path} is not a WAD: it must begin with IWAD or PWAD")
                _, count, start = HEADER.unpack(header)
                file.seek(max(start, 0))
                directory = file.read(ENTRY.size * max(count, 0))
                end = file.seek(0, 2)
        except OSError as error:
            raise UserError(f"cannot read the WAD {self.path}: {error.strerror}") from error
        self.lumps = [
            Lump(name.split(b"\0")[0].decode("latin-1").upper(), offset, size)
            for offset, size, name in ENTRY.iter_unpack(directory[: len(directory) // 16 * 16])
        ]
        broken = any(lump.offset < 0 or lump.offset + lump.size > end for lump in self.lumps)
        if len(self.lumps) != count or broken:
            raise UserError(f"{self.path} is a broken WAD: its directory points past its end")
        self._by_name = {lump.name: lump for lump in self.lumps}

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    def bytes_of(self, lump: Lump | str) -> bytes:
        """Return a lump's bytes; of several with one name the last, as the engine does."""
        entry = self._by_name[lump] if isinstance(lump, str) else lump
        with self.path.open("rb") as file:
            file.seek(entry.offset)
            return file.read(entry.size)

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
            raise UserError(f"lump name {name!r}: allowed are 1 to {NAME_LENGTH} characters")
        directory += ENTRY.pack(HEADER.size + len(body), len(data), name.encode("ascii"))
        body += data
        count += 1
    return HEADER.pack(b"PWAD", count, HEADER.size + len(body)) + bytes(body + directory)
