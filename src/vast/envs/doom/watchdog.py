"""A process beside the Python process that started it, which ends Doom engines that Python cannot.

The engine ignores SIGTERM, and a killed Python process cannot close it. So a process with engines
has a pipe to one watchdog, and writes a line per engine: `+FOLDER` before it starts in that folder,
`-FOLDER` after it has ended. When the pipe breaks, however the process died, the watchdog kills the
engines of the remaining folders, and removes their shared memory and the folders.

A call of an engine that hangs blocks Python inside ViZDoom, sometimes with the interpreter's lock:
no thread and no signal handler of Python can run. So a file in the engine's folder, its pulse, says
which call is in progress, and the watchdog kills an engine that does not answer in time. A second
pipe has the number of every signal that Python's low-level handler has seen: an engine that does
not answer soon after an interrupt is killed too, so that Python can handle the interrupt. An engine
that died inside a message queue, whoever killed it, has left it locked: `unlock.py` frees Python.

This file is run as a script, with the second pipe as its argument and the first as its input. It
imports only the standard library.
"""

import contextlib
import os
import select
import shutil
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

INSTANCE_FILE = "instance"
"""the file in an engine's folder with its instance name, after which its shared memory is named"""
SHARED_MEMORY = ("ViZDoomSM", "ViZDoomMQCtr", "ViZDoomMQDoom")
"""an engine has three shared-memory files, each named by one of these and the instance name"""
INSTANCE_ARGUMENT = "+viz_instance_id"
PULSE_FILE = "pulse"
"""the file in an engine's folder that says whether Python waits for it"""
PULSE = struct.Struct("=qdd")
"""the number of the call in progress, 0 if none; its limit in seconds; how long the watchdog had
waited when it killed the engine for not answering, 0 if it did not"""
POLL = 0.25
"""seconds between two looks at a pulse"""
INTERRUPT_LIMIT = 2.0
"""seconds that a call may last after an interrupt, if its own limit is not over before"""
INTERRUPTS = frozenset((signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
CHUNK = 65536
"""bytes read from a pipe at once"""
UNLOCK = Path(__file__).with_name("unlock.py")
"""the script that frees Python from a lock of a dead engine"""
UNLOCK_LIMIT = 10.0
"""seconds that it may take"""
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


def send(folder: str, number: signal.Signals) -> set[str]:
    """Send a signal to the engines in a folder; return their instance names."""
    instances = set()
    for process, arguments in engines_of(folder):
        instances.add(instance_of(arguments))
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, number)
    return instances


def clear(folder: str) -> bool:
    """Kill the engine in a folder and remove its shared memory; return whether there was one."""
    found = send(folder, signal.SIGKILL)
    with contextlib.suppress(FileNotFoundError):
        noted = (Path(folder) / INSTANCE_FILE).read_text(encoding="ascii")
        remove_shared_memory(noted)
    for instance in found:
        remove_shared_memory(instance)
    return bool(found)


def remove_shared_memory(instance: str) -> None:
    """Remove the files of an engine that has ended."""
    for name in SHARED_MEMORY:
        Path("/dev/shm", name + instance).unlink(missing_ok=True)


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


class Watched:
    """An engine's folder, and for how long the call in progress has been seen there."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._call = 0
        self._waited = 0.0
        self._interrupted = 0  # the call in progress when an interrupt came
        self._killed = 0  # the call for which the engine was killed

    def interrupt(self) -> None:
        """Give the call in progress only a short time from now on."""
        self._call = self._interrupted = self._pulse()[0]
        self._waited = 0.0

    def look(self, counts: bool) -> bool:
        """Kill the engine if its call lasts too long; return whether Python waits for a dead one.

        The time between looks that count is what matters. Python and its engines may be stopped
        together (control-Z), and a machine may sleep: time by a clock says nothing then.

        ViZDoom crashes, and Python with it, if an engine dies while it starts. So one that was
        stopped is told to go on, and has all of its time even after an interrupt.
        """
        call, limit = self._pulse()
        if not call or call != self._call or not counts:
            self._call, self._waited = call, 0.0
            return False
        self._waited += POLL
        if not self._started:
            if self._waited >= INTERRUPT_LIMIT:
                send(self.folder, signal.SIGCONT)
        elif call == self._interrupted:
            limit = min(limit, INTERRUPT_LIMIT)
        if self._waited >= limit:
            with contextlib.suppress(OSError), open(self._file, "r+b") as file:
                file.write(PULSE.pack(call, limit, self._waited))
            send(self.folder, signal.SIGKILL)
            self._killed, self._waited = call, 0.0
        return call == self._killed or self._died()

    @property
    def _started(self) -> bool:
        return Path(self.folder, INSTANCE_FILE).exists()

    def _died(self) -> bool:
        """Tell whether the engine had started, and has ended."""
        return self._started and not any(engines_of(self.folder))

    @property
    def _file(self) -> Path:
        return Path(self.folder, PULSE_FILE)

    def _pulse(self) -> tuple[int, float]:
        try:
            call, limit, _ = PULSE.unpack(self._file.read_bytes())
        except (OSError, struct.error):  # not started yet, or just closed
            return 0, 0.0
        return call, limit


def is_stopped(process: int) -> bool:
    """Tell whether a process is stopped, by a signal or a debugger."""
    try:
        status = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] in "Tt"


def unlock(process: int) -> None:
    """Free a process from the locks of dead engines."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        script = [sys.executable, "-I", "-S", str(UNLOCK), str(process)]
        subprocess.run(script, timeout=UNLOCK_LIMIT, check=False)


def watch(lines: int, signals: int) -> list[str]:
    """Look after engines until the pipe breaks; return the folders of those that are left."""
    parent = os.getppid()
    engines: dict[str, Watched] = {}
    unread, looked = b"", time.monotonic()
    while True:
        ready = select.select([lines, signals], [], [], POLL if engines else None)[0]
        if lines in ready:
            chunk = os.read(lines, CHUNK)
            if not chunk:
                return list(engines)
            *complete, unread = (unread + chunk).split(b"\n")
            for line in map(os.fsdecode, complete):
                if line.startswith("+"):
                    engines[line[1:]] = Watched(line[1:])
                else:
                    engines.pop(line[1:], None)
        elif signals in ready and not INTERRUPTS.isdisjoint(os.read(signals, CHUNK)):
            for engine in engines.values():
                engine.interrupt()
        if time.monotonic() - looked >= POLL:
            looked = time.monotonic()
            counts = not is_stopped(parent)
            waiting = [engine for engine in engines.values() if engine.look(counts)]
            if waiting:
                unlock(parent)


def main() -> None:
    """Look after engines until the pipe breaks, then clean up."""
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    folders = watch(sys.stdin.fileno(), int(sys.argv[1]))
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
