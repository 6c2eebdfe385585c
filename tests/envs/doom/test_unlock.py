"""An engine that dies inside ViZDoom's message queues leaves them locked; Python goes on."""

import os
import platform
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from vast.envs.doom import unlock

LIMIT = 60
"""seconds after which a test has failed: nothing here takes more than a few"""

# Locks the mutex of a queue as the engine does, and dies, or lives until its input ends.
LOCKER = """
import ctypes, mmap, os, struct, sys
with open(sys.argv[1], "r+b") as file:
    memory = mmap.mmap(file.fileno(), 0)
free = (0, 0, 0, 128)  # the lock, a count, the owner; what kind of mutex it is
mutex = next(i for i in range(0, 4096, 8) if struct.unpack_from("=III4xI", memory, i) == free)
libc = ctypes.CDLL(None)
address = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(memory)) + mutex)
assert libc.pthread_mutex_lock(address) == 0
print("locked", flush=True)
if sys.argv[2] == "dies":
    os._exit(0)
sys.stdin.read()
libc.pthread_mutex_unlock(address)
"""

# Names its engine, waits for a line, does something, and says how many engines it has lost.
CALLING = """
import sys
import gymnasium, vast
import numpy as np
from vast.envs.doom import engine
engine.ANSWER_LIMIT = float(sys.argv[1])
env = gymnasium.make("vast/HMaze-v0").unwrapped
env.reset(seed=0)
print(env._engine.process_id, open(env._engine._folder + "/instance").read(), flush=True)
sys.stdin.readline()
{call}
print(env.engine_restarts)
env.close()
"""
CALLS = {
    "a step": "env.step(np.int64(0)); env.reset(); env.step(np.int64(0))",
    "a change of the map": "env.map_name = 'HON'; env.reset()",  # holds the interpreter's lock
    "closing": "env.close()",  # likewise
}


def script(code: str, *arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", code, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def said(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline()


def end(process: "subprocess.Popen[str]") -> str:
    """Return what a process still says; one that hangs is killed, and the test fails."""
    try:
        return process.communicate("go on\n", timeout=LIMIT)[0]
    finally:
        process.kill()
        process.communicate()


@pytest.mark.slow
@pytest.mark.parametrize("queue", unlock.QUEUES)
@pytest.mark.parametrize(
    ("call", "fate"),
    [
        ("a step", signal.SIGKILL),
        ("a step", signal.SIGSTOP),
        ("a change of the map", signal.SIGKILL),
        ("closing", signal.SIGSTOP),
    ],
)
def test_python_goes_on_when_an_engine_dies_with_a_lock(
    queue: str, call: str, fate: signal.Signals
) -> None:
    process = script(CALLING.format(call=CALLS[call]), "1.0")
    engine, instance = said(process).split()
    os.kill(int(engine), signal.SIGSTOP)
    with script(LOCKER, queue + instance, "dies") as locker:
        assert said(locker) == "locked\n"
    os.kill(int(engine), fate)
    assert end(process) == ("0\n" if call == "closing" else "1\n")
    assert process.returncode == 0
    assert not Path(queue + instance).exists()


@pytest.mark.slow
def test_a_lock_whose_engine_lives_is_left_alone() -> None:
    process = script(CALLING.format(call=CALLS["a step"]), "10000")
    _, instance = said(process).split()
    with script(LOCKER, unlock.QUEUES[1] + instance, "lives") as locker:
        assert said(locker) == "locked\n"
        assert process.stdin is not None
        process.stdin.write("go on\n")
        process.stdin.flush()
        wait_for_sleepers(process.pid, 1)
        assert unlock.free(process.pid) == []
        assert len(list(unlock.sleepers(process.pid))) == 1
        locker.communicate()
    assert end(process) == "0\n"


# A queue of our own: a mutex and a condition variable that processes share. Threads do as told,
# and say so in one piece each.
QUEUE = """
import ctypes, mmap, os, sys, threading
libc = ctypes.CDLL(None)
with open(sys.argv[1], "r+b") as file:
    memory = mmap.mmap(file.fileno(), 0)
base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
mutex, condition = ctypes.c_void_p(base), ctypes.c_void_p(base + 64)
for kind, thing in (("mutex", mutex), ("cond", condition)):
    attributes = ctypes.create_string_buffer(64)
    getattr(libc, f"pthread_{kind}attr_init")(attributes)
    getattr(libc, f"pthread_{kind}attr_setpshared")(attributes, 1)
    getattr(libc, f"pthread_{kind}_init")(thing, attributes)
def wait():
    libc.pthread_mutex_lock(mutex)
    libc.pthread_cond_wait(condition, mutex)
    libc.pthread_mutex_unlock(mutex)
    os.write(1, b"woken\\n")
def send():
    libc.pthread_cond_signal(condition)
    os.write(1, b"sent\\n")
def lock():
    libc.pthread_mutex_lock(mutex)
    libc.pthread_mutex_unlock(mutex)
    os.write(1, b"unlocked\\n")
os.write(1, b"ready\\n")
for line in sys.stdin:
    threading.Thread(target=globals()[line.strip()], daemon=True).start()
"""
CONDITION = 64
# Where a condition variable has its own lock; the GNU C library moved it in version 2.41.
LIBRARY = tuple(int(part) for part in (platform.libc_ver()[1] or "0").split(".")[:2])
INNER_LOCK = CONDITION + (24 if LIBRARY >= (2, 41) else 32)

linux = pytest.mark.skipif(
    platform.machine() not in unlock.FUTEX_CALL or platform.libc_ver()[0] != "glibc",
    reason="needs Linux and the GNU C library",
)


@pytest.fixture
def queue() -> Iterator[Path]:
    file = Path(unlock.QUEUES[0] + secrets.token_hex(5))
    file.write_bytes(bytes(4096))
    yield file
    file.unlink()


def told(process: "subprocess.Popen[str]", *words: str) -> None:
    assert process.stdin is not None
    process.stdin.write("".join(f"{word}\n" for word in words))
    process.stdin.flush()


def wait_for_sleepers(process: int, number: int) -> list[unlock.Sleeper]:
    for _ in range(LIMIT * 20):
        found = list(unlock.sleepers(process))
        if len(found) == number:
            return found
        time.sleep(0.05)
    raise AssertionError(found)


def change(queue: Path, offset: int, number: int) -> None:
    with queue.open("r+b") as file:
        file.seek(offset)
        file.write(number.to_bytes(4, sys.byteorder))


@linux
def test_threads_that_wait_for_a_dead_owners_mutex_get_it_one_after_another(queue: Path) -> None:
    with script(QUEUE, str(queue)) as process:
        assert said(process) == "ready\n"
        with script(LOCKER, str(queue), "dies") as locker:
            assert said(locker) == "locked\n"
        told(process, "lock", "lock", "lock")
        wait_for_sleepers(process.pid, 3)
        assert len(unlock.free(process.pid)) == 3
        assert [said(process) for _ in range(3)] == ["unlocked\n"] * 3


@linux
def test_a_thread_whose_signal_never_came_is_woken(queue: Path) -> None:
    with script(QUEUE, str(queue)) as process:
        assert said(process) == "ready\n"
        told(process, "wait")
        wait_for_sleepers(process.pid, 1)
        unlock.free(process.pid)
        assert said(process) == "woken\n"


@linux
def test_a_thread_that_was_sent_a_signal_but_not_woken_is_woken(queue: Path) -> None:
    with script(QUEUE, str(queue)) as process:
        assert said(process) == "ready\n"
        told(process, "wait")
        (sleeper,) = wait_for_sleepers(process.pid, 1)
        change(queue, sleeper.offset, sleeper.expected + unlock.SIGNAL)
        unlock.free(process.pid)
        assert said(process) == "woken\n"


@linux
def test_the_lock_inside_a_condition_variable_is_freed_and_then_the_signal_arrives(
    queue: Path,
) -> None:
    with script(QUEUE, str(queue)) as process:
        assert said(process) == "ready\n"
        told(process, "wait")
        wait_for_sleepers(process.pid, 1)
        change(queue, INNER_LOCK, 1)
        told(process, "send")
        wait_for_sleepers(process.pid, 2)
        (freed,) = unlock.free(process.pid)  # not the one that waits for the signal
        assert freed.offset == INNER_LOCK
        assert {said(process), said(process)} == {"sent\n", "woken\n"}


def test_a_process_that_cannot_be_looked_at_is_left_alone() -> None:
    assert unlock.free(2**30) == []
