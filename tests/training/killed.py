"""A run that is killed while it saves; started as a process of its own."""

import os
import shutil
import signal
import sys
from itertools import count
from pathlib import Path
from typing import Any

from tests.training.runs import grow, loaded, make, sound, state_of
from vast.training.checkpoint import Checkpoint
from vast.training.manifest import read_manifest

CHANGES = {"open", "os.rename", "os.remove"}
"""what Python reports just before it happens; between two of these a save only fills a file"""


def save_forever(folder: Path) -> None:
    """Go on from what is there, and say after each save how many steps had been taken."""
    checkpoint = Checkpoint(folder, piece=3)
    replay = loaded(checkpoint) if checkpoint.exists() else make()
    while True:
        grow(replay, 7)
        checkpoint.save(state_of(replay), replay)
        print(replay.end, flush=True)


def save_until(change: int, folder: Path) -> None:
    """Go on from what is there, and be killed just before this change to the folder."""
    checkpoint = Checkpoint(folder, piece=3)
    replay = loaded(checkpoint)
    grow(replay, 7)
    left = change

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal left
        if event in CHANGES and str(arguments[0]).startswith(str(folder)):
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            left -= 1

    sys.addaudithook(hook)
    checkpoint.save(state_of(replay), replay)


def kill_everywhere(folder: Path) -> None:
    """Kill a save before each change it makes; print how many steps each left on disk."""
    replay, before = make(), Checkpoint(folder / "before", piece=3)
    for _ in range(6):
        grow(replay, 6)
        before.save(state_of(replay), replay)
    for change in count():
        copy = folder / str(change)
        shutil.copytree(before.folder, copy)
        child = os.fork()
        if child == 0:
            save_until(change, copy)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        print(sound(copy), flush=True)
        # The next process removes what was left behind.
        checkpoint = Checkpoint(copy, piece=3)
        replay = loaded(checkpoint)
        grow(replay, 1)
        checkpoint.save(state_of(replay), replay)
        assert sound(copy) == replay.end
        assert len(list(copy.iterdir())) == 1 + len(read_manifest(copy).files)
        if status == 0:
            return


if __name__ == "__main__":
    {"forever": save_forever, "everywhere": kill_everywhere}[sys.argv[1]](Path(sys.argv[2]))
