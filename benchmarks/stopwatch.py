"""Where time goes: sums of seconds by name, over blocks of code and methods of objects."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any


class Stopwatch:
    """Sums seconds by name; a block inside another one of the same name counts once."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}
        self._running: set[str] = set()

    @contextmanager
    def timing(self, name: str) -> Iterator[None]:
        """Add the time that a `with` block takes."""
        if name in self._running:
            yield
            return
        self._running.add(name)
        begin = time.perf_counter()
        try:
            yield
        finally:
            self._seconds[name] = self.total(name) + time.perf_counter() - begin
            self._running.remove(name)

    def over(self, owner: Any, path: str, name: str) -> None:
        """Add the time that each call of a method takes; `path` is one such as `table.add`."""
        *parts, last = path.split(".")
        for part in parts:
            owner = getattr(owner, part)
        method: Callable[..., Any] = getattr(owner, last)

        @wraps(method)
        def timed(*arguments: Any, **named: Any) -> Any:
            with self.timing(name):
                return method(*arguments, **named)

        setattr(owner, last, timed)

    def total(self, *names: str) -> float:
        """Return the seconds of these names."""
        return sum(self._seconds.get(name, 0.0) for name in names)

    def clear(self) -> None:
        """Forget all sums."""
        self._seconds = {}


class Shares(Stopwatch):
    """Sums seconds by thread and name, such as `main/sweeping`, each second once.

    A block inside another one is subtracted from it.
    """

    def __init__(self) -> None:
        super().__init__()
        self._open: dict[str, list[str]] = {}
        self._marks: dict[str, float] = {}

    @contextmanager
    def timing(self, name: str) -> Iterator[None]:
        """Add the time that a `with` block takes, without the blocks inside it."""
        is_main = threading.current_thread() is threading.main_thread()
        thread = "main" if is_main else "training"
        names = self._open.setdefault(thread, [])
        self._pass(thread, names)
        names.append(f"{thread}/{name}")
        try:
            yield
        finally:
            self._pass(thread, names)
            names.pop()

    def _pass(self, thread: str, names: list[str]) -> None:
        """Add the time since the last mark to the innermost block."""
        now = time.perf_counter()
        if names:
            self._seconds[names[-1]] = self.total(names[-1]) + now - self._marks[thread]
        self._marks[thread] = now

    def seconds(self) -> dict[str, float]:
        """Return all sums so far."""
        return dict(self._seconds)
