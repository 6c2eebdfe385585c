"""How a background sweeper and everybody else take turns at a table.

Python's interpreter lock alone would not do: the sweeper runs without it, and would need it back
between any two slices of work, for which a busy main thread lets it wait five milliseconds. So the
sweeper stays in compiled code and watches a few shared words: as soon as somebody waits for the
table, it finishes the few states it holds and steps aside.
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
"""the shared words, each on a cache line of its own: who holds the table, do others wait for it, is
the sweeper to come back to Python"""
NOBODY, SWEEPER = 0, -1
"""holders of the table; others are known by the number of their thread"""

SPINS = 4000
"""how often to look at a table that is held before giving the core to another thread"""
PATIENCE = 1_000_000
"""the same for the sweeper, which holds no other thread up while it looks, some milliseconds"""

EMPTY, SPENT, AWAY = range(3)
"""why a slice of sweeping ended: nothing to do, budget spent, recalled or kept waiting for long"""


@part
def try_to_hold(words: NDArray[np.int64], who: Int) -> bool:
    """Take the table if it is free."""
    return bool(atomic_load(words, HELD) == NOBODY and atomic_replace(words, HELD, NOBODY, who))


@kernel
def enter(words: NDArray[np.int64], who: int) -> bool:
    """Get hold of the table, ahead of the sweeper; give up after a while.

    Nobody enters twice. A thread that holds the table already was interrupted between getting
    hold of it and using it, and may as well go on from there.
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
def leave(words: NDArray[np.int64]) -> None:
    """Let others have the table."""
    atomic_swap(words, HELD, NOBODY)


@kernel
def set_recall(words: NDArray[np.int64], recalled: Int) -> None:
    """Call the sweeper back to Python, or take that back."""
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
    """Sweep, without the interpreter lock, whenever nobody else wants the table."""
    constants = Constants(discount, min_priority, noise)
    done = 0
    spins = 0
    while done < budget and spins < PATIENCE and atomic_load(words, RECALLED) == 0:
        if atomic_load(words, WAITING) != 0 or not try_to_hold(words, SWEEPER):
            spins += 1
            continue
        spins = 0
        # Looked at again: the table's arrays may have moved since this call was given them.
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


class Alone:
    """The gate of a table that nobody sweeps in the background: always open."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        pass

    def arrays_moved(self) -> None:
        """Hear that the table's arrays have been replaced."""


class Gate(Alone):
    """Lets one thread at a time work on a table, and the sweeper whenever no other wants to."""

    def __init__(self, is_work_left: Callable[[], bool]) -> None:
        raw = np.zeros(N_WORDS + 8, np.int64)
        start = (-raw.ctypes.data % 64) // 8
        self.words = raw[start : start + N_WORDS]
        self.error: BaseException | None = None
        """what ended the sweeper, if anything did; raised in whoever uses the table next"""
        self._is_work_left = is_work_left
        self._asleep = False
        # A bare lock as an alarm clock: released to wake the sweeper. Unlike threading.Event, it is
        # done in one indivisible call, which no interrupt can leave half done.
        self._alarm = threading.Lock()
        self._alarm.acquire()

    def __enter__(self) -> None:
        self.raise_error()
        who = threading.get_ident()
        while not enter(self.words, who):
            time.sleep(0)

    def __exit__(self, *exception: object) -> None:
        leave(self.words)
        if self._asleep and self._is_work_left():
            self._wake()

    def raise_error(self) -> None:
        """Raise, in the calling thread, what went wrong in the sweeper's."""
        if self.error is not None:
            raise RuntimeError("sweeping in the background has failed") from self.error

    def arrays_moved(self) -> None:
        """Call the sweeper back, so that it fetches the table's new arrays."""
        set_recall(self.words, 1)

    def recall(self) -> None:
        """Call the sweeper back to Python, asleep or not."""
        set_recall(self.words, 1)
        self._wake()

    def answer_recall(self) -> None:
        """Say, as the sweeper, that it is back."""
        set_recall(self.words, 0)

    def sleep(self, seconds: float) -> None:
        """Wait, as the sweeper, for work."""
        self._asleep = True
        if not self._is_work_left():
            self._alarm.acquire(timeout=seconds)
        self._asleep = False

    def _wake(self) -> None:
        with suppress(RuntimeError):  # rung already
            self._alarm.release()
