"""How long a training step of the burst takes, with one thread of PyTorch and with two, in turns.

An agent of the preset `cpu` fills its replay with random steps of the task, then trains as in the
burst at the end of the burn-in.
"""

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from statistics import median
from typing import Any

from vast.agents.vast.agent import VaST
from vast.experiments.config import default_run
from vast.tasks import make_env
from vast.training.plain import with_changes
from vast.training.threads import limited_threads
from vast.training.trainer import Trainer

FILLED = 1000
"""environment steps before the burst"""
AT_ONCE = 50
"""training steps of a turn"""
THREADS = (1, 2)


def bursts(tasks: tuple[str, ...] = ("plus-maze", "t-maze"), turns: int = 15) -> list[Any]:
    """Return the milliseconds of a training step by task, as medians of turns."""
    return [{"task": task, **measured(task, turns)} for task in tasks]


def measured(task: str, turns: int) -> dict[str, float]:
    """Return the milliseconds with one thread and with two, and the median of their ratios."""
    with ready_to_burst(task) as agent:
        times = [{n: per_step(agent, n) for n in THREADS} for _ in range(turns + 1)]
    one, two = ([1000 * turn[n] for turn in times[1:]] for n in THREADS)
    ratio = median([b / a for a, b in zip(one, two, strict=True)])
    return {"one_thread_ms": median(one), "two_threads_ms": median(two), "ratio": ratio}


@contextmanager
def ready_to_burst(task: str) -> Iterator[VaST]:
    """Yield an agent whose burst, which never ends, is about to begin."""
    changes = {"exploration.burn_in": FILLED, "training.burst": 10**9}
    config = with_changes(default_run(task, "vast", "cpu").settings, changes)
    with (
        closing(make_env(task)) as env,
        closing(VaST(env, config=config)) as agent,
    ):
        actor = Trainer(agent, env, 0).actor
        while agent.steps < FILLED:
            actor.step(agent)
        yield agent


def per_step(agent: VaST, threads: int) -> float:
    """Return the seconds of a training step."""
    with limited_threads(threads):
        begin = time.perf_counter()
        for _ in range(AT_ONCE):
            agent.train()
        return (time.perf_counter() - begin) / AT_ONCE
