"""One watchdog per Python process, and one temporary folder and one pulse per engine."""

import contextlib
import ctypes
import mmap
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import weakref
from pathlib import Path

from vast.envs.doom import watchdog

PR_SET_PTRACER = 0x59616D61
"""Linux's name for a process that may see more of us than others, also where children may not"""

_lock = threading.Lock()


class Guard:
    """The pipe to this process's watchdog, and the folders that it watches."""

    def __init__(self) -> None:
        self._folders: list[str] = []
        self._process: subprocess.Popen[str] | None = None
        self._signals = -1  # the pipe of signal numbers

    def add(self, folder: str) -> None:
        """Watch an engine's folder."""
        self._folders.append(folder)
        self._tell(f"+{folder}")

    def remove(self, folder: str) -> None:
        """Stop watching a folder whose engine has ended."""
        if folder in self._folders:
            self._folders.remove(folder)
            self._tell(f"-{folder}")

    def _tell(self, line: str) -> None:
        process = self._process
        try:
            if process is None or process.stdin is None:
                raise BrokenPipeError
            process.stdin.write(line + "\n")
            process.stdin.flush()
        except BrokenPipeError:  # not started yet, or killed
            self._start()

    def _start(self) -> None:
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", watchdog.__file__, str(reading)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd="/",
            # Its own session: an interrupt from the keyboard goes to the whole process group.
            start_new_session=True,
            pass_fds=[reading],
        )
        os.close(reading)
        _trust(self._process.pid)
        _report_signals(writing, instead_of=self._signals)
        self._signals = writing
        weakref.finalize(self, _dismiss, self._process, writing, os.getpid())
        assert self._process.stdin is not None
        for folder in self._folders:
            self._process.stdin.write(f"+{folder}\n")
        self._process.stdin.flush()


def _report_signals(pipe: int, instead_of: int) -> None:
    """Let Python's low-level handler write the number of each signal to a pipe (-1: to none).

    Only the main thread may say so, and somebody else's pipe is left in place: then an interrupt
    is handled when the engine answers, or when its time is over.
    """
    with contextlib.suppress(ValueError, OSError):
        before = signal.set_wakeup_fd(pipe, warn_on_full_buffer=False)
        if before not in (-1, instead_of):
            signal.set_wakeup_fd(before)


def _trust(process: int) -> None:
    """Let a process see where our threads sleep (`unlock.py`), which some systems refuse it."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PTRACER, ctypes.c_ulong(process), *[ctypes.c_ulong(0)] * 3)


def _dismiss(process: subprocess.Popen[str], signals: int, owner: int) -> None:
    """Close the pipes when Python exits, and wait until the watchdog has finished."""
    if os.getpid() != owner:
        return
    _report_signals(-1, instead_of=signals)
    os.close(signals)
    with contextlib.suppress(subprocess.TimeoutExpired, BrokenPipeError, ValueError):
        process.communicate(timeout=10)


_guard = Guard()


def _forget_in_child() -> None:
    """Close the child's copies of the pipes, which must break when the parent dies."""
    global _guard, _lock
    process = _guard._process
    if process is not None and process.stdin is not None:
        os.close(process.stdin.fileno())
        _report_signals(-1, instead_of=_guard._signals)
        os.close(_guard._signals)
    _abandoned.append(_guard)
    _guard, _lock = Guard(), threading.Lock()


_abandoned: list[Guard] = []
"""the parent's guards, kept so that their files are not closed twice"""
os.register_at_fork(after_in_child=_forget_in_child)


def new_folder() -> str:
    """Return a new folder for an engine; the watchdog is notified before it is created."""
    folder = str(Path(tempfile.gettempdir(), f"vast-doom-{secrets.token_hex(8)}").absolute())
    with _lock:
        _guard.add(folder)
    os.mkdir(folder, mode=0o700)
    return folder


class Pulse:
    """Tells the watchdog which call of an engine is in progress, and how long it may take."""

    def __init__(self, folder: str, limit: float) -> None:
        path = Path(folder, watchdog.PULSE_FILE)
        path.write_bytes(watchdog.PULSE.pack(0, limit, 0.0))
        with path.open("r+b") as file:
            memory = memoryview(mmap.mmap(file.fileno(), watchdog.PULSE.size))
        self._call, self._seconds = memory.cast("q"), memory.cast("d")
        self._calls = 0

    def begin(self) -> None:
        """Start a call."""
        self._calls += 1
        self._call[0] = self._calls

    def end(self) -> None:
        """Wait no longer: the engine has answered, or died."""
        self._call[0] = 0

    def hurry(self, limit: float) -> None:
        """Wait no longer than this for the next answer."""
        self._seconds[1] = min(limit, self._seconds[1])

    @property
    def waited(self) -> float:
        """Seconds after which the watchdog killed the engine for not answering, 0 if it did not."""
        return self._seconds[2]


def note_instance(folder: str) -> int | None:
    """Write the instance name of the engine in a folder to a file; return its process id."""
    for process, arguments in watchdog.engines_of(folder):
        instance = watchdog.instance_of(arguments)
        (Path(folder) / watchdog.INSTANCE_FILE).write_text(instance, encoding="ascii")
        return process
    return None


def remove_folder(folder: str) -> None:
    """Make sure that an engine has ended, and remove its shared memory and folder."""
    watchdog.clear(folder)
    shutil.rmtree(folder, ignore_errors=True)
    with _lock:
        _guard.remove(folder)
