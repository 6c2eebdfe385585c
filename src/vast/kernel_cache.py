"""Compiled functions cached on disk; where that fails, compiled in memory, with one line about it.

Numba's own cache ends the program if a cached file is damaged, the disk is full, or the folder
cannot be made, and it would run damaged machine code. Without a usable folder it chooses another,
beside the source files. An interrupt that comes while LLVM calls back into Python would be lost.
"""

import functools
import hashlib
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, UserProvidedCacheLocator
from numba.core.serialize import dumps

F = TypeVar("F", bound=Callable[..., Any])

FOLDER = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "vast"
"""where compiled functions are cached, unless NUMBA_CACHE_DIR selects another folder"""


class Notice:
    """Says once that the cache cannot be used, and what to do."""

    def __init__(self) -> None:
        self.given = False

    def give(self, error: Exception) -> None:
        """Print one line, unless it was printed before."""
        if self.given:
            return
        self.given = True
        config: Any = numba.config
        reason = error.strerror if isinstance(error, OSError) else "damaged"
        print(
            f"vast: cannot use the kernel cache {config.CACHE_DIR or FOLDER} ({reason}); "
            "compiling in memory, up to 30 s in every run: "
            "delete it, or set NUMBA_CACHE_DIR to another folder",
            file=sys.stderr,
            flush=True,
        )


notice = Notice()


class _Locator(UserProvidedCacheLocator):
    """Numba's choice of a file, without an attempt to write to the folder before it is needed."""

    @classmethod
    def from_function(cls, function: Any, file: Any) -> Any:
        return cls(function, file)


class _Checked(CompileResultCacheImpl):
    """What is written for one function: its machine code, and a hash of it."""

    _locator_classes = [_Locator]  # noqa: RUF012

    def reduce(self, compiled: Any) -> tuple[bytes, bytes]:
        code = dumps(super().reduce(compiled))
        return hashlib.sha256(code).digest(), code

    def rebuild(self, target: Any, saved: tuple[bytes, bytes]) -> Any:
        digest, code = saved
        if hashlib.sha256(code).digest() != digest:
            raise ValueError("the machine code is damaged")
        return super().rebuild(target, pickle.loads(code))


class _Cache(FunctionCache):
    """Numba's cache of one function; at the first error it is no longer used."""

    _impl_class = _Checked

    def load_overload(self, signature: Any, target: Any) -> Any:
        try:
            return super().load_overload(signature, target)
        except Exception as error:
            self._give_up(error)

    def save_overload(self, signature: Any, compiled: Any) -> None:
        try:
            super().save_overload(signature, compiled)
        except Exception as error:
            self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        self.disable()
        notice.give(error)


def _uninterrupted(function: F) -> F:
    """Let an interrupt wait until a function is compiled or loaded; then it is handled as ever."""

    @functools.wraps(function)
    def compiled(*arguments: Any, **options: Any) -> Any:
        handler = signal.getsignal(signal.SIGINT)
        # Only the main thread hears of interrupts, and only Python's handlers raise anything.
        if threading.current_thread() is not threading.main_thread() or not callable(handler):
            return function(*arguments, **options)
        came: list[Any] = []
        signal.signal(signal.SIGINT, lambda *what: came.append(what))
        try:
            return function(*arguments, **options)
        finally:
            signal.signal(signal.SIGINT, handler)
            if came:
                handler(*came[0])

    found: Any = compiled
    return found  # type: ignore[no-any-return]


def cached_njit(function: F, folder: Path, **options: Any) -> F:
    """Make Numba compile a function on its first call, and cache it in this folder if possible."""
    config: Any = numba.config
    njit: Any = numba.njit
    dispatcher: Any = njit(**options)(function)
    dispatcher.compile = _uninterrupted(dispatcher.compile)
    theirs = config.CACHE_DIR
    config.CACHE_DIR = theirs or str(folder)
    try:
        dispatcher._cache = _Cache(function)
    finally:
        config.CACHE_DIR = theirs
    found: F = dispatcher
    return found
