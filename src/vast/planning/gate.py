"""The lock that a background sweeper and all other users of a table share.

The interpreter lock is not enough: the sweeper runs without it and would have to take it back after
every slice of work; a busy main thread makes it wait five milliseconds each time. So the sweeper
stays in compiled code and polls a few shared words. As soon as another thread waits for the table,
the sweeper finishes the few states it has popped and releases the table.
"""

import threading
import time
from collections.abc import Callable
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from vast.planning.compiled import (
    Float,
    Int,
    atomic_add,
    atomic_load,
    atomic_replace,
    atomic_swap,
    background_kernel,
    kernel,
    part,
)
from vast.planning.kernels import Constants, sweep_batch
from vast.planning.memory import NIL, Memory

HELD, WAITING, RECALLED, N_WORDS = 0, 8, 16, 24
"""the shared words, each on its own cache line: who holds the table, how many threads wait for it,
must the sweeper return to Python"""
NOBODY, SWEEPER = 0, -1
"""holders of the table; all others are identified by their thread number"""

SPINS = 4000
"""how often a thread polls a table in use before it yields its core"""
PATIENCE = 1_000_000
"""the same for the sweeper, which blocks no other thread while it polls; some milliseconds"""

EMPTY, SPENT, AWAY = range(3)
"""why a slice of sweeping ended: queue empty, budget spent, or recalled or kept waiting too long"""


@part
def try_to_hold(words: NDArray[np.int64], who: Int) -> bool:
    """Take the table if it is free."""
    return bool(atomic_load(words, HELD) == NOBODY and atomic_replace(words, HELD, NOBODY, who))


@kernel
def acquire(words: NDArray[np.int64], who: int) -> bool:
    """Acquire the table, with precedence over the sweeper; return False after too many polls.

    The lock is never acquired recursively. A thread that already holds the table was interrupted
    between acquiring and using it, and simply goes on.
    """
    atomic_add(words, WAITING, 1)
    held = bool(atomic_load(words, HELD) == who)
    spins = 0
    while not held and spins < SPINS:
        held = try_to_hold(words, who)
        spins += 1
    atomic_add(words, WAITING, -1)
    return held


@kernel
def release(words: NDArray[np.int64]) -> None:
    """Release the table."""
    atomic_swap(words, HELD, NOBODY)


@kernel
def set_recall(words: NDArray[np.int64], recalled: Int) -> None:
    """Ask the sweeper to return to Python (1), or clear the request (0)."""
    atomic_swap(words, RECALLED, recalled)


@background_kernel
def sweep_between(
    m: Memory,
    words: NDArray[np.int64],
    batch: NDArray[np.int64],
    budget: Int,
    discount: Float,
    min_priority: Float,
    noise: Float,
) -> tuple[Int, Int]:
    """Sweep, without the interpreter lock, whenever no other thread wants the table."""
    constants = Constants(discount, min_priority, noise)
    done = 0
    spins = 0
    while done < budget and spins < PATIENCE and atomic_load(words, RECALLED) == 0:
        if atomic_load(words, WAITING) != 0 or not try_to_hold(words, SWEEPER):
            spins += 1
            continue
        spins = 0
        # Checked again: the table may have replaced its arrays since this call received them.
        outcome = AWAY if atomic_load(words, RECALLED) != 0 else SPENT
        while outcome == SPENT and done < budget and atomic_load(words, WAITING) == 0:
            backups = sweep_batch(m, batch, budget - done, constants)
            if backups == NIL:
                outcome = EMPTY
            else:
                done += backups
        atomic_swap(words, HELD, NOBODY)
        if outcome != SPENT:
            return done, outcome
    return done, SPENT if done >= budget else AWAY


class OpenGate:
    """The gate of a table without a background sweeper: always open."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        pass

    def arrays_moved(self) -> None:
        """Note that the table's arrays have been replaced; nothing to do here."""


class Gate(OpenGate):
    """Lets one thread at a time use a table, and the sweeper whenever no other thread wants it."""

    def __init__(self, is_work_left: Callable[[], bool]) -> None:
        raw = np.zeros(N_WORDS + 8, np.int64)
        start = (-raw.ctypes.data % 64) // 8
        self.words = raw[start : start + N_WORDS]
        self.error: BaseException | None = None
        """what ended the sweeper, if anything; raised in the next thread that uses the table"""
        self._is_work_left = is_work_left
        self._asleep = False
        # A bare lock as an alarm clock: released to wake the sweeper. Unlike threading.Event, this
        # is one atomic call, which an interrupt cannot leave half done.
        self._alarm = threading.Lock()
        self._alarm.acquire()

    def __enter__(self) -> None:
        self.raise_error()
        who = threading.get_ident()
        while not acquire(self.words, who):
            time.sleep(0)

    def __exit__(self, *exception: object) -> None:
        release(self.words)
        if self._asleep and self._is_work_left():
            self._wake()

    def raise_error(self) -> None:
        """Raise the sweeper's error, if there was one, in the calling thread."""
        if self.error is not None:
            raise RuntimeError("background sweeping failed") from self.error

    def arrays_moved(self) -> None:
        """Recall the sweeper, so that it fetches the table's new arrays."""
        set_recall(self.words, 1)

    def recall(self) -> None:
        """Make the sweeper return to Python, asleep or not."""
        set_recall(self.words, 1)
        self._wake()

    def answer_recall(self) -> None:
        """Clear the request to return; called by the sweeper."""
        set_recall(self.words, 0)

    def sleep(self, seconds: float) -> None:
        """Wait for work; called by the sweeper."""
        self._asleep = True
        if not self._is_work_left():
            self._alarm.acquire(timeout=seconds)
        self._asleep = False

    def _wake(self) -> None:
        with suppress(RuntimeError):  # released already
            self._alarm.release()
