"""Where time goes: sums by name over stretches of code and over methods of objects."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any


class Stopwatch:
    """Sums of seconds by name; what is timed inside of something else of that name counts once."""

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

    def over(self, owner: Any, place: str, name: str) -> None:
        """Add the time that each call of a method takes; `place` is a path such as `table.add`."""
        *path, last = place.split(".")
        for part in path:
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
        """Begin anew."""
        self._seconds = {}
