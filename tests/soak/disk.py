"""A disk that can be filled and emptied at any moment."""

import contextlib
import os
import random
import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOM = 4 * 2**30
"""bytes on an empty disk"""
SLACK = 100_000
"""bytes that are left at most on a full one"""
SMALL_FILE = 30_000
"""bytes of the largest file that a process may write where no disk can be mounted"""


class Disk:
    """A file system in memory whose size is changed; where none can be mounted, a limit.

    The limit is for the size of any file that a process writes. It also hits the shared memory of
    Doom engines, so it is no disk for runs that have one.
    """

    def __init__(self, folder: Path, is_real: bool) -> None:
        self.folder, self.is_real = folder, is_real

    def fill(self, process: int, chance: random.Random) -> None:
        """Leave little or no room for what a process writes."""
        if not self.is_real:
            resource.prlimit(process, resource.RLIMIT_FSIZE, (SMALL_FILE, resource.RLIM_INFINITY))
            return
        full = False
        while not full:  # the run may write while we look
            status = os.statvfs(self.folder)
            used = (status.f_blocks - status.f_bfree) * status.f_frsize
            full = _resize(self.folder, used + chance.randrange(4096, SLACK))

    def empty(self) -> None:
        """Make room again."""
        if self.is_real:
            assert _resize(self.folder, ROOM)


def _resize(folder: Path, size: int) -> bool:
    words = ["mount", "-o", f"remount,size={size}", str(folder)]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


@contextlib.contextmanager
def mounted(folder: Path) -> Iterator[Disk]:
    """Mount a disk for some time, if this user may."""
    folder.mkdir(parents=True)
    words = ["mount", "-t", "tmpfs", "-o", f"size={ROOM}", "soak", str(folder)]
    try:
        is_real = subprocess.run(words, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        is_real = False
    try:
        yield Disk(folder, is_real)
    finally:
        if is_real:
            subprocess.run(["umount", "--lazy", str(folder)], check=False)
