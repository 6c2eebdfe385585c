"""Training in a process of its own is training, and leaves nothing behind."""

import gc
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.agents.worlds import TINY, Wanderer, tiny_agent, with_training
from tests.training.runs import identical
from vast.agents.vast.agent import VaST
from vast.agents.vast.config import VaSTConfig
from vast.agents.vast.training_process import ProcessTrainer, TrainingProcessError
from vast.errors import UserError
from vast.model.tabulator import Tabulator

pytestmark = pytest.mark.slow

IN_THREAD = with_training(
    replace(TINY, model=replace(TINY.model, ema_decay=0.5)),
    burst=3,
    retabulate=9,
    overlap=True,
)
IN_PROCESS = with_training(IN_THREAD, process=True)


def trainer_of(agent: VaST) -> ProcessTrainer:
    assert isinstance(agent._jobs, ProcessTrainer)
    return agent._jobs


def pid_of(agent: VaST) -> int:
    pid = trainer_of(agent).pid
    assert pid is not None
    return pid


def is_alive(pid: int) -> bool:
    """Tell whether a process is there and not a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")")[-1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def shared_files() -> list[str]:
    """Return what is in shared memory by name, but for engines, which other tests may run."""
    return sorted(name for name in os.listdir("/dev/shm") if not name.startswith("ViZDoom"))


def wait_until_gone(pid: int, seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while is_alive(pid):
        assert time.monotonic() < end, f"process {pid} is still there"
        time.sleep(0.02)


@pytest.mark.parametrize("segment", [1, 4])
@pytest.mark.parametrize("history", [0, 2])
def test_process_and_thread_learn_the_same(segment: int, history: int) -> None:
    def with_history(config: VaSTConfig) -> VaSTConfig:
        changed = replace(config, model=replace(config.model, history=history))
        return with_training(changed, segment=segment)

    agents = [tiny_agent(with_history(config)) for config in (IN_THREAD, IN_PROCESS)]
    for agent in agents:
        Wanderer(agent).live(90)
    thread, process = (agent.state_dict() for agent in agents)
    assert thread["trainings"] > 15
    assert identical(thread, process)
    for agent in agents:
        agent.close()


def test_a_run_that_was_saved_and_loaded_goes_on_as_if_nothing_had_happened() -> None:
    whole, first = (tiny_agent(IN_PROCESS) for _ in range(2))
    walks = [Wanderer(whole), Wanderer(first)]
    for walk in walks:
        walk.live(41)  # in the middle of a job
    assert first._jobs._running
    second = tiny_agent(IN_PROCESS)
    second.load_state_dict(first.state_dict(), [first.replay.frames_since(0)])
    assert identical(second.state_dict(), first.state_dict())
    walks[1].agent = second
    for walk in walks:
        walk.live(40)
    assert identical(whole.state_dict(), second.state_dict())
    for agent in (whole, first, second):
        agent.close()


def test_a_second_process_goes_on_where_the_first_was_closed() -> None:
    whole, interrupted = (tiny_agent(IN_PROCESS) for _ in range(2))
    for agent in (whole, interrupted):
        walk = Wanderer(agent)
        walk.live(30)
        if agent is interrupted:
            agent._jobs.wait()
            agent.close()
        walk.live(30)
    assert identical(whole.state_dict(), interrupted.state_dict())
    whole.close()
    interrupted.close()


def test_a_killed_process_is_noticed_at_once_and_named() -> None:
    agent = tiny_agent(IN_PROCESS)
    walk = Wanderer(agent)
    walk.live(40)
    pid = pid_of(agent)
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(UserError, match=f"the training process {pid} was killed by signal 9"):
        walk.live(2 * agent.config.training.every)
    agent.close()
    wait_until_gone(pid)


def test_an_error_of_the_process_is_raised_here_with_its_traceback() -> None:
    agent = tiny_agent(IN_PROCESS)
    walk = Wanderer(agent)
    walk.live(30)
    agent._jobs.take()
    job = agent._next_job()
    wrong = job._replace(batch=job.batch._replace(actions=np.full_like(job.batch.actions, 99)))
    agent._jobs.begin(wrong)
    with pytest.raises(TrainingProcessError, match=r"(?s)_tensors_of.*actions must be between 0"):
        agent._jobs.take()
    agent.close()


def test_a_loss_that_is_not_finite_is_one_line_here() -> None:
    agent = tiny_agent(IN_PROCESS)
    Wanderer(agent).live(30)
    agent._jobs.take()
    assert isinstance(agent.encoder, Tabulator)
    agent.encoder.model.initial.data.fill_(float("nan"))  # they share their weights
    agent._jobs.begin(agent._next_job())
    with pytest.raises(UserError, match=r"^loss and gradient must be finite"):
        agent._jobs.take()
    agent.close()


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_what_interrupts_the_run_leaves_its_process_alone(name: str) -> None:
    agent = tiny_agent(IN_PROCESS)
    walk = Wanderer(agent)
    walk.live(30)
    agent._jobs.wait()
    os.kill(pid_of(agent), getattr(signal, name))
    walk.live(30)
    agent.close()


def test_nothing_is_left_when_an_agent_is_closed_or_forgotten() -> None:
    shared = shared_files()
    for closed in (True, False):
        agent = tiny_agent(IN_PROCESS)
        Wanderer(agent).live(40)
        pid = pid_of(agent)
        assert is_alive(pid)
        if closed:
            agent.close()
            agent.close()
        else:
            del agent
            gc.collect()
        wait_until_gone(pid)
    assert shared_files() == shared


SCRIPT = """
import sys
import numpy as np
from tests.agents.test_training_process import IN_PROCESS, pid_of
from tests.agents.worlds import Wanderer, tiny_agent

agent = tiny_agent(IN_PROCESS)
walk = Wanderer(agent)
walk.live(40)
print(pid_of(agent), flush=True)
while True:
    walk.live(1)
"""
"""as a user would write it: what it does is not guarded by `if __name__ == "__main__"`"""


@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM", "SIGINT"])
def test_the_process_ends_with_the_one_that_started_it(name: str, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    shared = shared_files()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    ) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert is_alive(pid)
        parent.send_signal(getattr(signal, name))
        parent.wait(30)
    wait_until_gone(pid)
    assert shared_files() == shared
