"""Signals that wait until a step is finished."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

HANGUP: signal.Signals | None = getattr(signal, "SIGHUP", None)
"""the terminal was closed; there is no such signal on Windows"""
STOPPING = (signal.SIGINT, signal.SIGTERM, *([HANGUP] if HANGUP else []))
"""signals by which users and systems end a program"""


@contextmanager
def deferred_signals(*numbers: signal.Signals) -> Iterator[Callable[[], bool]]:
    """Yield a function that tells whether one of these signals came; a second one acts at once.

    Python delivers signals to the main thread only: in any other thread there are none to defer.
    SIGHUP stays ignored where it is, as under nohup.
    """
    came = False

    def asked() -> bool:
        return came

    if threading.current_thread() is not threading.main_thread():
        yield asked
        return
    before = {number: signal.getsignal(number) for number in numbers}
    if HANGUP is not None and before.get(HANGUP) == signal.SIG_IGN:
        del before[HANGUP]

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal came
        came = True
        restore()

    for number in before:
        signal.signal(number, note)
    try:
        yield asked
    finally:
        restore()
