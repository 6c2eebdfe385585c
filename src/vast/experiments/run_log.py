"""Warnings of a run: on the screen, and in its log."""

import contextlib
import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from logging.handlers import MemoryHandler
from pathlib import Path

log = logging.getLogger("vast")

HELD = 1000
"""warnings that are held back at most, while it is open whether the run begins"""


@contextmanager
def warnings_to(path: Path) -> Iterator[Callable[[], None]]:
    """Show warnings on stderr, and write them to a log once the yielded function was called.

    Until then they are held back: a run that is refused leaves no log.
    """
    file = LogFile(path, encoding="utf-8", delay=True)
    file.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    held = MemoryHandler(HELD, logging.CRITICAL + 1, file, flushOnClose=False)
    handlers: tuple[logging.Handler, ...] = (held, Screen(logging.WARNING))

    def begin() -> None:
        held.flushLevel = logging.NOTSET
        held.flush()

    for handler in handlers:
        log.addHandler(handler)
    try:
        yield begin
    finally:
        for handler in handlers:
            log.removeHandler(handler)
            handler.close()
        file.close()


class Screen(logging.Handler):
    """Prints each warning once, on stderr as it is then: above the progress display."""

    def __init__(self, level: int) -> None:
        super().__init__(level)
        self._said: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        """Print a warning."""
        line = record.getMessage()
        if line not in self._said:
            self._said.add(line)
            with contextlib.suppress(OSError):  # the terminal may be closed
                print(f"vast: {record.levelname.lower()}: {line}", file=sys.stderr, flush=True)


class LogFile(logging.FileHandler):
    """A log that a full disk does not turn into tracebacks on the screen."""

    def handleError(self, record: logging.LogRecord) -> None:
        """Go on: the screen has the warning, and the next checkpoint says that the disk is full."""
