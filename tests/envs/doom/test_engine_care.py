"""However Python ends, nothing is left behind: no engine, no shared memory, no folder."""

import contextlib
import logging
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.envs.doom.mazes import HMaze, PlusMaze, TMaze

from vast.envs.doom import engine, guard, watchdog
from vast.envs.doom.environment import LOST
from vast.errors import UserError

SHARED = Path("/dev/shm")

pytestmark = pytest.mark.slow

# Two environments, one of them with a camera: three engines. Prints their folders and ids.
VICTIM = """
import os, signal, sys, time
import gymnasium, vast
import numpy as np
first = gymnasium.make("vast/PlusMaze-v0").unwrapped
second = gymnasium.make("vast/TMaze-v0", render_mode="rgb_array").unwrapped
for env in (first, second):
    env.reset(seed=0)
    env.step(np.int64(0))
second.render()
for engine in (first._engine, second._engine, second._camera._engine):
    print(engine.process_id, engine._folder, open(engine._folder + "/instance").read())
print("ready", flush=True)
"""
ENDINGS = {
    "close": "first.close(); second.close()",
    "no close at all": "",
    "exception": "raise RuntimeError('on purpose')",
    "sys.exit": "sys.exit(3)",
    "interrupt": "time.sleep(60)",
    "interrupt in a step": "while True: first.step(np.int64(1))",
    "terminate": "time.sleep(60)",
    "terminate in a step": "while True: first.step(np.int64(1))",
    "kill": "time.sleep(60)",
    "kill in a step": "while True: first.step(np.int64(1))",
    "os._exit": "os._exit(1)",
}
SIGNALS = {"interrupt": signal.SIGINT, "terminate": signal.SIGTERM, "kill": signal.SIGKILL}


def used_elsewhere(folder: Path) -> str:
    """Return the memory maps of all processes but those that were started with this folder."""
    maps = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if str(folder) not in (process / "cmdline").read_text(errors="replace"):
                maps.append((process / "maps").read_text(errors="replace"))
    return "".join(maps)


def left_over(process_id: int, folder: str, instance: str) -> list[str]:
    """Return what is left of an engine."""
    left = [f"process {pid}" for pid, _ in watchdog.engines_of(folder)]
    with contextlib.suppress(OSError):
        if folder.encode() in Path(f"/proc/{process_id}/cmdline").read_bytes():
            left.append(f"process {process_id}")
    left += [str(file) for file in SHARED.iterdir() if instance in file.name]
    return left + ([folder] if Path(folder).exists() else [])


def wait_until_gone(engines: list[tuple[int, str, str]]) -> None:
    left = ["not looked yet"]
    for _ in range(200):
        left = [item for engine in engines for item in left_over(*engine)]
        if not left:
            return
        time.sleep(0.05)
    raise AssertionError(left)


def read_engines(lines: Iterator[str]) -> list[tuple[int, str, str]]:
    engines = []
    for line in lines:
        if line.strip() == "ready":
            break
        process_id, folder, instance = line.split()
        engines.append((int(process_id), folder, instance))
    return engines


@pytest.mark.parametrize("ending", ENDINGS)
def test_nothing_is_left_after(ending: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", VICTIM + ENDINGS[ending]],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as victim:
        assert victim.stdout is not None
        engines = read_engines(victim.stdout)
        assert len(engines) == 3
        if ending.split()[0] in SIGNALS:
            assert all(left_over(*engine) for engine in engines)
            victim.send_signal(SIGNALS[ending.split()[0]])
        # The pipe is closed only when no child of the victim has it open any more.
        assert victim.communicate(timeout=60)[0] == ""
    wait_until_gone(engines)


def test_nothing_is_left_when_python_is_killed_while_an_engine_starts(tmp_path: Path) -> None:
    # Python itself creates a temporary file when it first looks for their folder. That is
    # done before `ready`, because we do not remove it.
    start = (
        "import tempfile, gymnasium, vast\ntempfile.gettempdir()\n"
        "env = gymnasium.make('vast/TMaze-v0').unwrapped\n"
        "print('ready', flush=True)\nenv.reset()\nenv.step(0)\n"
    )
    before = {file.name for file in SHARED.iterdir()}
    for delay in (0.0, 0.01, 0.03, 0.06, 0.1, 0.15, 0.2):
        with subprocess.Popen(
            [sys.executable, "-c", start],
            stdout=subprocess.PIPE,
            env={**os.environ, "TMPDIR": str(tmp_path)},
        ) as victim:
            assert victim.stdout is not None
            victim.stdout.readline()
            time.sleep(delay)
            victim.kill()
            victim.communicate(timeout=60)
    left: list[str] = []
    for _ in range(200):
        # Engines of other runs may have started meanwhile.
        elsewhere = used_elsewhere(tmp_path)
        new = {file.name for file in SHARED.iterdir()} - before
        left = [name for name in new if name not in elsewhere] + os.listdir(tmp_path)
        if not left:
            return
        time.sleep(0.05)
    raise AssertionError(left)


INTERRUPTED = """
import gymnasium, vast
import numpy as np
env = gymnasium.make("vast/PlusMaze-v0").unwrapped
env.reset(seed=0)
print("ready", flush=True)
try:
    while True:
        if env.step(np.int64(1))[2]:
            env.reset()
except KeyboardInterrupt:
    print(env.step(np.int64(0))[3], env.engine_restarts)
"""


def test_the_engine_survives_an_interrupt_from_the_keyboard() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as victim:
        assert victim.stdout is not None
        assert victim.stdout.readline() == "ready\n"
        time.sleep(0.2)
        os.killpg(victim.pid, signal.SIGINT)
        assert victim.communicate(timeout=60)[0] == "False 0\n"


def test_a_camera_that_dies_is_replaced() -> None:
    env = PlusMaze(render_mode="rgb_array")
    env.reset(seed=0)
    env.render()
    env.step(np.int64(1))
    assert env._camera is not None
    assert env._camera._engine.process_id is not None
    os.kill(env._camera._engine.process_id, signal.SIGKILL)
    picture = env.render()
    env._camera.close()
    env._camera = None
    again = env.render()
    assert picture is not None
    assert again is not None
    np.testing.assert_array_equal(picture, again)
    env.close()


def test_an_engine_that_dies_is_replaced_and_the_episode_truncated(
    caplog: pytest.LogCaptureFixture,
) -> None:
    env = PlusMaze()
    env.reset(seed=0)
    observation, *_ = env.step(np.int64(0))
    assert env._engine is not None
    old = (env._engine.process_id, env._engine._folder)
    assert old[0] is not None
    os.kill(old[0], signal.SIGKILL)
    with caplog.at_level(logging.WARNING):
        last, reward, terminated, truncated, info = env.step(np.int64(0))
    np.testing.assert_array_equal(last, observation)
    assert (reward, terminated, truncated, info["event"]) == (0.0, False, True, LOST)
    assert info["lost_step"]
    assert env.engine_restarts == 1
    assert "the Doom engine died in step" in caplog.text
    assert not Path(old[1]).exists()
    assert "lost_step" not in env.reset()[1]
    assert env._engine is not None
    assert env._engine.process_id != old[0]
    assert not env.step(np.int64(0))[3]
    env.close()


def test_an_engine_found_dead_at_reset_is_replaced_without_changing_the_episode() -> None:
    env, other = PlusMaze(), PlusMaze()
    env.reset(seed=0)
    other.reset(seed=0)
    assert env._engine is not None
    assert env._engine.process_id is not None
    os.kill(env._engine.process_id, signal.SIGKILL)
    np.testing.assert_array_equal(env.reset(seed=1)[0], other.reset(seed=1)[0])
    assert env.engine_restarts == 1
    env.close()
    other.close()


def test_two_engines_that_die_in_a_row_end_the_run_in_one_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begin = engine.Engine.begin

    def begin_dead(self: engine.Engine, episode: engine.Episode) -> None:
        assert self.process_id is not None
        os.kill(self.process_id, signal.SIGKILL)
        begin(self, episode)

    env = PlusMaze()
    monkeypatch.setattr(engine.Engine, "begin", begin_dead)
    with pytest.raises(UserError, match=r"^two Doom engines in a row could not begin"):
        env.reset(seed=0)
    monkeypatch.undo()
    env.reset(seed=0)
    assert env.engine_restarts == 2
    env.close()


def test_closing_leaves_nothing_and_the_environment_can_be_reset_again() -> None:
    env = TMaze()
    for _ in range(2):
        env.reset(seed=0)
        assert env._engine is not None
        assert env._engine.process_id is not None
        folder = Path(env._engine._folder)
        instance = (folder / watchdog.INSTANCE_FILE).read_text()
        engine = (env._engine.process_id, str(folder), instance)
        assert len(left_over(*engine)) >= 5
        env.close()
        env.close()
        wait_until_gone([engine])


def test_several_environments_run_side_by_side() -> None:
    envs = [HMaze(), HMaze(), PlusMaze()]
    for env in envs:
        env.reset(seed=4)
    for _ in range(20):
        frames = [env.step(np.int64(1))[0] for env in envs]
        np.testing.assert_array_equal(frames[0], frames[1])
        assert not np.array_equal(frames[0], frames[2])
    for env in envs:
        env.close()


def _play(connection: "multiprocessing.connection.Connection") -> None:
    env = HMaze()
    env.reset(seed=4)
    frames = [env.step(np.int64(1))[0] for _ in range(20)]
    env.close()
    connection.send(np.array(frames))


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("forking", [True, False])
def test_environments_in_other_processes_leave_ours_alone(forking: bool) -> None:
    mine = HMaze()
    mine.reset(seed=4)
    fork, spawn = multiprocessing.get_context("fork"), multiprocessing.get_context("spawn")
    frames = []
    for _ in range(2):
        here, there = spawn.Pipe(duplex=False)
        worker = (fork if forking else spawn).Process(target=_play, args=(there,))
        worker.start()
        frames.append(here.recv())
        worker.join()
        assert worker.exitcode == 0
    np.testing.assert_array_equal(frames[0], frames[1])
    np.testing.assert_array_equal(frames[0], [mine.step(np.int64(1))[0] for _ in range(20)])
    mine.close()


def test_a_killed_watchdog_is_replaced() -> None:
    env = TMaze()
    env.reset(seed=0)
    process = guard._guard._process
    assert process is not None
    process.kill()
    process.wait()
    other = TMaze()
    other.reset(seed=0)
    replaced = guard._guard._process
    assert replaced is not None
    assert replaced.pid != process.pid
    assert replaced.poll() is None
    env.close()
    other.close()
