"""Outlives the process that started it, and clears away the Doom engines it leaves behind.

The engine ignores SIGTERM, and a Python that is killed cannot close it. So a process that runs
engines keeps a pipe to one watchdog and writes a line per engine: `+FOLDER` before it starts
in that folder, `-FOLDER` when it is gone. When the pipe breaks, by whatever death, the watchdog
kills the engines of the folders that are left and removes their shared memory and the folders.

This file is run as a script, alone, so it imports nothing but the standard library.
"""

import contextlib
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

INSTANCE_FILE = "instance"
"""in an engine's folder: the name of its instance, which its shared memory is called after"""
SHARED_MEMORY = ("ViZDoomSM", "ViZDoomMQCtr", "ViZDoomMQDoom")
"""an engine has three shared-memory files: one of these and the instance's name"""
INSTANCE_ARGUMENT = "+viz_instance_id"
TRIES = 20
"""an engine may be just about to start when its parent dies, so it is looked for repeatedly"""


def engines_of(folder: str) -> Iterator[tuple[int, list[str]]]:
    """Return the engines that have the folder in their command line, and that line."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            arguments = (entry / "cmdline").read_bytes().decode("utf-8", "replace").split("\0")
        except OSError:
            continue
        if INSTANCE_ARGUMENT in arguments and any(folder in word for word in arguments):
            yield int(entry.name), arguments


def instance_of(arguments: list[str]) -> str:
    """Return the instance's name from an engine's command line."""
    return arguments[arguments.index(INSTANCE_ARGUMENT) + 1]


def clear(folder: str) -> bool:
    """Kill the engine that runs in a folder, remove its shared memory; return if there was one."""
    instances = set()
    instance_file = Path(folder) / INSTANCE_FILE
    if instance_file.exists():
        instances.add(instance_file.read_text(encoding="ascii"))
    found = False
    for process, arguments in engines_of(folder):
        found = True
        instances.add(instance_of(arguments))
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    for instance in instances:
        for name in SHARED_MEMORY:
            Path("/dev/shm", name + instance).unlink(missing_ok=True)
    return found


def unclaimed(since: float) -> set[Path]:
    """Return shared memory of engines, ours and younger than `since`, that no process uses."""
    files = {
        file
        for name in SHARED_MEMORY
        for file in Path("/dev/shm").glob(f"{name}*")
        if file.stat().st_uid == os.getuid() and file.stat().st_ctime >= since
    }
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            used = (entry / "maps").read_text(encoding="utf-8", errors="replace")
            files -= {file for file in files if file.name in used}
    return files


def clear_unclaimed(folder: str) -> None:
    """Remove the shared memory of an engine whose parent died before it could start.

    Its instance's name is not known to anybody then, but nothing uses the files.
    """
    with contextlib.suppress(OSError):
        since = Path(folder).stat().st_mtime - 1
        before = unclaimed(since)
        time.sleep(0.2)
        for file in before & unclaimed(since):
            file.unlink(missing_ok=True)


def main() -> None:
    """Listen until the pipe breaks, then clear away what is left."""
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    folders: list[str] = []
    for line in sys.stdin:
        folder = line[1:].rstrip("\n")
        if line.startswith("+"):
            folders.append(folder)
        elif folder in folders:
            folders.remove(folder)
    for attempt in range(TRIES if folders else 0):
        found = [clear(folder) for folder in folders]
        if attempt and not any(found):
            break
        time.sleep(0.1)
    for folder in folders:
        if not (Path(folder) / INSTANCE_FILE).exists():
            clear_unclaimed(folder)
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
