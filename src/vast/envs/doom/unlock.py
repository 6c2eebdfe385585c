"""Frees a process from the locks of Doom engines that died while they held them.

ViZDoom and its engine talk through two message queues in shared memory. An engine that is killed
inside one of them never gives its lock back, and the next thread that wants it waits for ever: 15
of 74 engines that were killed at random while Python stepped through them left it like this.

Nothing here depends on how a queue is laid out. The kernel tells which word of memory each thread
sleeps on (a futex), and which value it found there; the GNU C library sleeps in two ways:

- for a lock, until its two lowest bits are no longer set: 2 is locked with others waiting. Both the
  mutex and the lock inside a condition variable are such words. We clear these bits, and the owner
  of a mutex, on whose absence the next one insists.
- for a signal of a condition variable, whose count of signals we raise. Whoever waits for a
  condition must bear to be woken without cause, and looks again at what it was waiting for.

The process is then the only one that uses these queues, and its own threads hold a lock for
microseconds: a thread that sleeps on the same word a quarter of a second later waits for the dead.

Run as a script by the watchdog, with the process id as its argument. It imports only the standard
library. To see where the threads of another process sleep is a privilege: Python grants it to the
watchdog (`guard.py`). Without it, or without /proc, nothing happens.
"""

import contextlib
import ctypes
import mmap
import platform
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

QUEUES = ("/dev/shm/ViZDoomMQCtr", "/dev/shm/ViZDoomMQDoom")
"""how the files of message queues are called; an engine's instance name follows"""
FUTEX_CALL = {"x86_64": 202, "aarch64": 98}
"""the number of the system call"""
OPERATION = 0x7F
"""the bits of a futex operation without its options"""
WAIT, WAKE, WAIT_BITSET = 0, 1, 9
"""futex operations: locks use the first to wait, condition variables the last"""
LOCKED = 3
"""the bits of a lock"""
SHARED_MUTEX = 128
"""the kind of a mutex that several processes share"""
SIGNAL = 2
"""what a signal adds to the word on which a condition variable's waiters sleep"""
EVERYBODY = 2**31 - 1
PAUSE = 0.25
"""seconds between the two looks at a thread"""


class Mutex(ctypes.Structure):
    """How a mutex begins, which is part of the C library's binary interface."""

    _fields_ = [(name, ctypes.c_uint32) for name in ("lock", "count", "owner", "users", "kind")]


class Sleeper(NamedTuple):
    """A thread that sleeps on a word in one of ViZDoom's queues."""

    thread: int
    operation: int
    expected: int
    """the value of the word that made it sleep"""
    file: str
    offset: int
    """where in the file the word is"""

    @property
    def instance(self) -> str:
        """The instance name of the engine at the other end of the queue."""
        return next(self.file[len(queue) :] for queue in QUEUES if self.file.startswith(queue))


def queues_of(process: int) -> list[tuple[int, int, int, str]]:
    """Return the mappings of queues in a process: first address, last, offset and file."""
    found = []
    for line in Path(f"/proc/{process}/maps").read_text("utf-8", "replace").splitlines():
        addresses, _, offset, _, _, *name = line.split(maxsplit=5)
        if name and name[0].startswith(QUEUES):
            first, last = (int(address, 16) for address in addresses.split("-"))
            found.append((first, last, int(offset, 16), name[0]))
    return found


def sleepers(process: int) -> Iterator[Sleeper]:
    """Return the threads of a process that sleep on a word of a queue."""
    futex = FUTEX_CALL.get(platform.machine())
    with contextlib.suppress(OSError):  # no such process, no permission, another system
        queues = queues_of(process)
        for thread in Path(f"/proc/{process}/task").iterdir():
            call, *arguments = (thread / "syscall").read_text().split()
            if call != str(futex):
                continue
            address, operation, expected = (int(word, 16) for word in arguments[:3])
            for first, last, offset, file in queues:
                if first <= address < last:
                    where = address - first + offset
                    operation, expected = operation & OPERATION, expected % 2**32
                    yield Sleeper(int(thread.name), operation, expected, file, where)


def wake(sleeper: Sleeper) -> None:
    """Change the word as whoever should have woken the thread would have, and wake it."""
    with open(sleeper.file, "r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
        words = Mutex.from_buffer(memory, sleeper.offset)
        if words.lock == sleeper.expected:  # otherwise it has changed, and only the call is missing
            if sleeper.operation == WAIT_BITSET:
                words.lock += SIGNAL
            else:
                if words.kind == SHARED_MUTEX:
                    words.owner = 0
                words.lock &= ~LOCKED
        futex = FUTEX_CALL[platform.machine()]
        ctypes.CDLL(None).syscall(futex, ctypes.byref(words), WAKE, EVERYBODY, None, None, 0)
        del words  # or the memory cannot be closed


def lives(instance: str) -> bool:
    """Tell whether an engine runs by its instance name."""
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if instance in file.read_bytes().decode("utf-8", "replace").split("\0"):
                return True
    return False


def free(process: int, pause: float = PAUSE) -> list[Sleeper]:
    """Wake the threads of a process that wait for engines which do not live; return them.

    Those that wait for a signal are left alone while others wait for a lock: one of these may be
    about to send it.
    """
    before = set(sleepers(process))
    time.sleep(pause if before else 0.0)
    dead = {instance for instance in {each.instance for each in before} if not lives(instance)}
    stuck = [each for each in sleepers(process) if each in before and each.instance in dead]
    stuck = [each for each in stuck if each.operation == WAIT] or stuck
    # Once per word: a thread that is awake may hold the lock when the next one's turn comes.
    for sleeper in {(each.file, each.offset): each for each in stuck}.values():
        with contextlib.suppress(OSError, ValueError):  # the queue was removed meanwhile
            wake(sleeper)
    return stuck


if __name__ == "__main__":
    free(int(sys.argv[1]))
