"""Memory that two processes share, and that is gone when both are, however they ended.

It has no name in the file system: the other process inherits it. On Windows, where nothing can be
inherited, it has a name that the system forgets with the last process that uses it.
"""

import mmap
import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

ALIGNMENT = 64
"""bytes; every array begins with a cache line of its own"""

Layout = Mapping[str, tuple[tuple[int, ...], DTypeLike]]
"""shapes and types of arrays by name"""


class SharedMemory:
    """A block of zeros to be shared with one process that is started here."""

    def __init__(self, size: int) -> None:
        self._file: int | None = None
        if sys.platform == "win32":
            self.handle = f"vast-{secrets.token_hex(16)}"
            self.memory = mmap.mmap(-1, size, tagname=self.handle)
            return
        if hasattr(os, "memfd_create"):
            self._file = os.memfd_create("vast")
        else:
            with tempfile.TemporaryFile() as unnamed:
                self._file = os.dup(unnamed.fileno())
        os.ftruncate(self._file, size)
        self.handle = str(self._file)
        self.memory = mmap.mmap(self._file, size)

    def popen(self, words: list[str], **options: Any) -> subprocess.Popen[bytes]:
        """Start the process that inherits this memory, and may `attach` to it by its handle."""
        inherited = () if self._file is None else (self._file,)
        try:
            return subprocess.Popen(words, pass_fds=inherited, **options)
        finally:
            if self._file is not None:
                os.close(self._file)
                self._file = None


def attach(handle: str, size: int) -> mmap.mmap:
    """Return the memory that the process that started this one has shared."""
    if sys.platform == "win32":
        return mmap.mmap(-1, size, tagname=handle)
    file = int(handle)
    try:
        return mmap.mmap(file, size)
    finally:
        os.close(file)


def size_of(layout: Layout) -> int:
    """Return how many bytes the arrays take."""
    return sum(_padded(_bytes(shape, dtype)) for shape, dtype in layout.values())


def arrays_in(memory: mmap.mmap, layout: Layout) -> dict[str, NDArray[Any]]:
    """Return the arrays in the memory, one after the other."""
    arrays, offset = {}, 0
    for name, (shape, dtype) in layout.items():
        size = _bytes(shape, dtype)
        arrays[name] = np.frombuffer(memory, np.uint8, size, offset).view(dtype).reshape(shape)
        offset += _padded(size)
    return arrays


def _bytes(shape: tuple[int, ...], dtype: DTypeLike) -> int:
    return int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize


def _padded(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
