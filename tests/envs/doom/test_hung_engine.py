"""An engine that does not answer is killed and replaced, and interrupts are heard meanwhile."""

import logging
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from tests.envs.doom.mazes import HMaze
from tests.experiments.sameness import saved

from vast.envs.doom import engine, watchdog
from vast.envs.doom.environment import LOST, DoomMaze
from vast.experiments import run_directory as files

pytestmark = pytest.mark.slow

FOREVER = 10_000.0
"""a limit that no test waits for"""


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "ANSWER_LIMIT", 1.0)


def hang(env: DoomMaze) -> int:
    """Stop an environment's engine; return its process id."""
    assert env._engine is not None
    assert env._engine.process_id is not None
    os.kill(env._engine.process_id, signal.SIGSTOP)
    return env._engine.process_id


@pytest.mark.usefixtures("impatient")
def test_an_engine_that_hangs_in_a_step_is_replaced_and_the_episode_truncated(
    caplog: pytest.LogCaptureFixture,
) -> None:
    env = HMaze()
    env.reset(seed=0)
    before, *_ = env.step(np.int64(0))
    hung = hang(env)
    with caplog.at_level(logging.WARNING):
        last, reward, terminated, truncated, info = env.step(np.int64(0))
    np.testing.assert_array_equal(last, before)
    assert (reward, terminated, truncated, info["event"]) == (0.0, False, True, LOST)
    assert env.engine_restarts == 1
    assert "the Doom engine did not answer in step" in caplog.text
    assert not Path(f"/proc/{hung}").exists()
    env.reset()
    assert not env.step(np.int64(0))[3]
    env.close()


@pytest.mark.usefixtures("impatient")
def test_an_engine_that_hangs_at_a_reset_is_replaced_without_changing_the_episode() -> None:
    env, other = HMaze(), HMaze()
    for each in (env, other):
        each.reset(seed=0)
    hang(env)
    np.testing.assert_array_equal(env.reset(seed=1)[0], other.reset(seed=1)[0])
    assert (env.engine_restarts, other.engine_restarts) == (1, 0)
    env.close()
    other.close()


@pytest.mark.usefixtures("impatient")
def test_an_engine_that_hangs_when_the_map_changes_is_replaced() -> None:
    # ViZDoom holds the interpreter's lock while it changes the map: no thread of ours can run.
    env = HMaze()
    env.reset(seed=0)
    hang(env)
    env.map_name = "HON"
    _, info = env.reset(seed=1)
    assert (info["map"], env.engine_restarts) == ("HON", 1)
    env.close()


@pytest.mark.usefixtures("impatient")
def test_an_engine_that_hangs_is_closed_all_the_same() -> None:
    env = HMaze()
    env.reset(seed=0)
    hung = hang(env)
    env.close()
    assert not Path(f"/proc/{hung}").exists()


# Stops its engine as soon as there is one; to start it takes ViZDoom much longer.
STARTING = """
import os, signal, sys, threading, time
import gymnasium, vast
from vast.envs.doom import engine, guard, watchdog
engine.ANSWER_LIMIT = float(sys.argv[1])
env = gymnasium.make("vast/PlusMaze-v0").unwrapped
def stop():
    engines = []
    while not engines:
        engines = [each for folder in guard._guard._folders for each in watchdog.engines_of(folder)]
    os.kill(engines[0][0], signal.SIGSTOP)
    print("stopped" if env._engine is None else "too late", flush=True)
threading.Thread(target=stop).start()
env.reset(seed=0)
print(env.engine_restarts)
"""


def test_an_engine_that_hangs_while_it_starts_is_told_to_go_on() -> None:
    # To kill it would crash Python: ViZDoom looks into memory that it has not opened yet.
    with started(1.0, "-c", STARTING) as process:
        assert process.communicate(timeout=60) == ("stopped\n0\n", "")


# Says which engine it has, and steps through it until the first line of its input.
STEPPING = """
import select, sys
import gymnasium, vast
import numpy as np
from vast.envs.doom import engine
engine.ANSWER_LIMIT = float(sys.argv[1])
env = gymnasium.make("vast/PlusMaze-v0").unwrapped
env.reset(seed=0)
print(env._engine.process_id, flush=True)
try:
    while not select.select([sys.stdin], [], [], 0)[0]:
        if env.step(np.int64(1))[2]:
            env.reset()
except KeyboardInterrupt:
    print("interrupted")
print(env.engine_restarts)
"""


def started(limit: float, *command: str, folder: Path | None = None) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, *command, str(limit)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(folder)} if folder else None,
    )


def test_an_engine_that_was_stopped_together_with_python_is_not_killed() -> None:
    with started(0.5, "-c", STEPPING) as process:
        assert process.stdout is not None
        engine_id = int(process.stdout.readline())
        for each in (engine_id, process.pid):  # as control-Z does; Python waits for an answer
            os.kill(each, signal.SIGSTOP)
        time.sleep(2)
        for each in (process.pid, engine_id):
            os.kill(each, signal.SIGCONT)
        assert process.communicate("enough\n", timeout=60)[0] == "0\n"


def test_an_interrupt_is_heard_long_before_the_limit() -> None:
    with started(FOREVER, "-c", STEPPING) as process:
        assert process.stdout is not None
        os.kill(int(process.stdout.readline()), signal.SIGSTOP)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=60)[0].startswith("interrupted")


def wait_until_python_waits(folder: Path) -> None:
    """Wait until a call of one of the engines in a folder has lasted for half a second."""
    before, calls = {0}, {0}
    while not (before & calls - {0}):
        time.sleep(0.5)
        pulses = [file.read_bytes() for file in folder.glob(f"*/{watchdog.PULSE_FILE}")]
        before, calls = calls, {watchdog.PULSE.unpack(pulse)[0] for pulse in pulses}


TRAINING = """
import sys
from vast.cli import main
from vast.envs.doom import engine
engine.ANSWER_LIMIT = float(sys.argv.pop())
main(sys.argv[1:])
"""


@pytest.mark.parametrize(
    ("number", "limit"),
    [
        (signal.SIGINT, 3.0),
        (signal.SIGINT, FOREVER),
        (signal.SIGTERM, FOREVER),
        (signal.SIGHUP, FOREVER),
    ],
)
def test_a_run_whose_engine_hangs_is_saved_at_an_interrupt(
    tmp_path: Path, number: signal.Signals, limit: float
) -> None:
    run, engines = tmp_path / "run", tmp_path / "engines"
    engines.mkdir()
    options = ("train", "plus-maze", "--preset", "debug", "--steps", "1000000", "--out", str(run))
    with started(limit, "-c", TRAINING, *options, folder=engines) as process:
        metrics = run / "metrics.jsonl"
        while not metrics.exists() or not metrics.read_text():
            assert process.poll() is None
            time.sleep(0.05)
        for engine_id, _ in watchdog.engines_of(str(engines)):
            os.kill(engine_id, signal.SIGSTOP)
        wait_until_python_waits(engines)
        process.send_signal(number)
        out, _ = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "the Doom engine did not answer" in (run / files.LOG).read_text()
    assert out.splitlines()[-1] == f"interrupted and saved; to resume: vast resume {run}"
    assert saved(run)["/agent/steps"] > 0
    assert not list(engines.glob("vast-doom-*"))
