"""One watchdog per process, and the folder each engine lives in."""

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
    """The pipe to the watchdog of the process, and the folders it was told of."""

    def __init__(self) -> None:
        self._folders: list[str] = []
        self._process: subprocess.Popen[str] | None = None

    def add(self, folder: str) -> None:
        """Have an engine's folder watched from now on."""
        self._folders.append(folder)
        self._tell(f"+{folder}")

    def remove(self, folder: str) -> None:
        """Forget a folder whose engine is gone."""
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
        except BrokenPipeError:  # none yet, or somebody killed it
            self._start()

    def _start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", watchdog.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd="/",
            # A session of its own: an interrupt from the keyboard goes to the whole group.
            start_new_session=True,
        )
        weakref.finalize(self, _dismiss, self._process, os.getpid())
        assert self._process.stdin is not None
        for folder in self._folders:
            self._process.stdin.write(f"+{folder}\n")
        self._process.stdin.flush()


def _dismiss(process: subprocess.Popen[str], owner: int) -> None:
    """Break the pipe at the end of Python and wait until the watchdog has done its work."""
    if os.getpid() != owner:
        return
    with contextlib.suppress(subprocess.TimeoutExpired, BrokenPipeError, ValueError):
        process.communicate(timeout=10)


_guard = Guard()


def _forget_in_child() -> None:
    """Let go of the parent's pipe, which must break when the parent dies."""
    global _guard, _lock
    process = _guard._process
    if process is not None and process.stdin is not None:
        os.close(process.stdin.fileno())
    _abandoned.append(_guard)
    _guard, _lock = Guard(), threading.Lock()


_abandoned: list[Guard] = []
"""guards of the parent, kept so that nothing of theirs is closed twice"""
os.register_at_fork(after_in_child=_forget_in_child)


def new_folder() -> str:
    """Return a new folder for an engine to live in; the watchdog knows of it before it is made."""
    folder = str(Path(tempfile.gettempdir(), f"vast-doom-{secrets.token_hex(8)}").absolute())
    with _lock:
        _guard.add(folder)
    os.mkdir(folder, mode=0o700)
    return folder


def note_instance(folder: str) -> int | None:
    """Write down the instance of the engine that runs in a folder; return its process id."""
    for process, arguments in watchdog.engines_of(folder):
        instance = watchdog.instance_of(arguments)
        (Path(folder) / watchdog.INSTANCE_FILE).write_text(instance, encoding="ascii")
        return process
    return None


def remove_folder(folder: str) -> None:
    """Make sure an engine is gone, with its shared memory and its folder."""
    watchdog.clear(folder)
    shutil.rmtree(folder, ignore_errors=True)
    with _lock:
        _guard.remove(folder)
