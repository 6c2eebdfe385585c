"""One watchdog per Python process, and one temporary folder per engine."""

import contextlib
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import threading
import weakref
from pathlib import Path

from vast.envs.doom import watchdog

_lock = threading.Lock()


class Guard:
    """The pipe to this process's watchdog, and the folders that it watches."""

    def __init__(self) -> None:
        self._folders: list[str] = []
        self._process: subprocess.Popen[str] | None = None

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
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", watchdog.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd="/",
            # Its own session: an interrupt from the keyboard goes to the whole process group.
            start_new_session=True,
        )
        weakref.finalize(self, _dismiss, self._process, os.getpid())
        assert self._process.stdin is not None
        for folder in self._folders:
            self._process.stdin.write(f"+{folder}\n")
        self._process.stdin.flush()


def _dismiss(process: subprocess.Popen[str], owner: int) -> None:
    """Close the pipe when Python exits, and wait until the watchdog has finished."""
    if os.getpid() != owner:
        return
    with contextlib.suppress(subprocess.TimeoutExpired, BrokenPipeError, ValueError):
        process.communicate(timeout=10)


_guard = Guard()


def _forget_in_child() -> None:
    """Close the child's copy of the pipe, which must break when the parent dies."""
    global _guard, _lock
    process = _guard._process
    if process is not None and process.stdin is not None:
        os.close(process.stdin.fileno())
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
