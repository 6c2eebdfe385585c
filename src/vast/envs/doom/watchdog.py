"""A process that outlives the Python process that started it, and ends its Doom engines.

The engine ignores SIGTERM, and a killed Python process cannot close it. So a process with engines
has a pipe to one watchdog, and writes a line per engine: `+FOLDER` before it starts in that folder,
`-FOLDER` after it has ended. When the pipe breaks, however the process died, the watchdog kills the
engines of the remaining folders, and removes their shared memory and the folders.

This file is run as a script, so it imports only the standard library.
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
"""the file in an engine's folder with its instance name, after which its shared memory is named"""
SHARED_MEMORY = ("ViZDoomSM", "ViZDoomMQCtr", "ViZDoomMQDoom")
"""an engine has three shared-memory files, each named by one of these and the instance name"""
INSTANCE_ARGUMENT = "+viz_instance_id"
TRIES = 20
"""how often to look for engines: one may be about to start when its parent dies"""


def engines_of(folder: str) -> Iterator[tuple[int, list[str]]]:
    """Return the process ids and command lines of the engines that run in a folder."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            arguments = (entry / "cmdline").read_bytes().decode("utf-8", "replace").split("\0")
        except OSError:
            continue
        if INSTANCE_ARGUMENT in arguments and any(folder in word for word in arguments):
            yield int(entry.name), arguments


def instance_of(arguments: list[str]) -> str:
    """Return the instance name in an engine's command line."""
    return arguments[arguments.index(INSTANCE_ARGUMENT) + 1]


def clear(folder: str) -> bool:
    """Kill the engine in a folder and remove its shared memory; return whether there was one."""
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
    """Return the user's shared memory of engines, newer than `since`, that no process uses."""
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

    Its instance name is unknown then, but no process uses the files.
    """
    with contextlib.suppress(OSError):
        since = Path(folder).stat().st_mtime - 1
        before = unclaimed(since)
        time.sleep(0.2)
        for file in before & unclaimed(since):
            file.unlink(missing_ok=True)


def main() -> None:
    """Read from the pipe until it breaks, then clean up."""
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
