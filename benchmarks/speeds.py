"""What 1000 steps of each agent cost on each task: the numbers of `vast grid --dry-run`.

A short run with a short burn-in is measured after it, without test epochs: processor time of the
process, its threads and its engine, and the size of the checkpoint. The burst of training at the
end of the burn-in is measured apart, and so are steps with a frozen encoder. Memories are nearly
empty then: NEC and MFEC become slower by up to three times as theirs fill.

    python -m benchmarks.speeds                       # all, about 15 minutes
    python -m benchmarks.speeds --agents vast nec     # these only; the others stay as they are
"""

import json
import os
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import tyro

from benchmarks.report import machine, write_json
from vast.agents.registry import AGENTS
from vast.experiments.config import RunConfig, default_run
from vast.experiments.grids.estimate import BURST, BYTES, FROZEN, SECONDS, STATE_BYTES
from vast.experiments.runs import Run, opened
from vast.tasks import TASKS
from vast.training.checkpoint import CHECKPOINT
from vast.training.plain import with_changes

STEPS = {"cpu": (600, 2000), "paper": (300, 120)}
"""of the burn-in, and after it"""
BURST_STEPS = 100
PAPER_TASKS = ("plus-maze", "pong")
"""the published networks are slow: one maze stands for all"""
OUT = Path("src/vast/experiments/grids/speeds.json")


def tree_seconds() -> float:
    """Return the processor time of this process and of all that it started."""
    parents: dict[int, list[int]] = defaultdict(list)
    ticks: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_bytes().rpartition(b")")[2].split()
        except OSError:  # it has just ended
            continue
        pid = int(path.parent.name)
        parents[int(fields[1])].append(pid)
        ticks[pid] = int(fields[11]) + int(fields[12])  # proc(5): utime and stime
    waiting, total = [os.getpid()], 0
    while waiting:
        pid = waiting.pop()
        total += ticks.get(pid, 0)
        waiting += parents[pid]
    return total / os.sysconf("SC_CLK_TCK")


class Watch:
    """Notes the processor time at the end of the burn-in, and after the burst."""

    def __init__(self, run: Run, burn_in: int) -> None:
        self._run, self._burn_in = run, burn_in
        self.burst: float | None = None
        self.after: float | None = None

    def __call__(self) -> bool:
        """Be asked after every step whether to stop: never."""
        agent = self._run.agent
        if agent.steps >= self._burn_in and self.burst is None:
            self.burst = tree_seconds()
        if agent.steps > self._burn_in and self.after is None:
            self.after = tree_seconds()
        return False


def freezes(agent: str, task: str, preset: str) -> bool:
    """Tell whether a preset freezes its encoder at some step."""
    training = getattr(default_run(task, agent, preset).settings, "training", None)
    return getattr(training, "freeze_after", None) is not None


def short_run(agent: str, task: str, preset: str, frozen: bool) -> tuple[RunConfig, int]:
    """Return a run with a short burn-in, and the training steps of the preset's burst."""
    config = default_run(task, agent, preset)
    burn_in, after = STEPS[preset]
    changes: dict[str, Any] = {
        "exploration.burn_in": burn_in,
        "exploration.first": config.settings.exploration.final,
        "exploration.anneal_steps": 0,
    }
    burst = 0
    if agent == "vast":
        burst = config.settings.training.burst
        changes["training.burst"] = min(burst, BURST_STEPS)
        changes["training.freeze_after"] = burn_in + 1 if frozen else None
    settings = with_changes(config.settings, changes)
    loop = replace(config.loop, eval_every=10**9)
    return replace(config, settings=settings, steps=burn_in + after, loop=loop), burst


def measured(agent: str, task: str, preset: str, frozen: bool = False) -> dict[str, float]:
    """Return the costs of an agent on a task."""
    config, burst = short_run(agent, task, preset, frozen)
    burn_in = config.settings.exploration.burn_in
    with TemporaryDirectory() as folder, opened(Path(folder), config) as run:
        watch = Watch(run, burn_in)
        run.restore()
        run.train(watch)
        end = tree_seconds()
        sizes = {path.name: path.stat().st_size for path in (Path(folder) / CHECKPOINT).iterdir()}
    assert watch.burst is not None
    assert watch.after is not None
    steps = config.steps - burn_in - 1
    training = watch.after - watch.burst
    frames = sum(size for name, size in sizes.items() if name.startswith("frames"))
    return {
        SECONDS: round(1000 * (end - watch.after) / steps, 3),
        BURST: round(training * burst / BURST_STEPS, 1) if burst else 0.0,
        BYTES: round(1000 * frames / config.steps),
        STATE_BYTES: sum(sizes.values()) - frames,
    }


def main(
    agents: tuple[str, ...] = tuple(AGENTS),
    tasks: tuple[str, ...] = tuple(TASKS),
    presets: tuple[str, ...] = ("cpu", "paper"),
    out: Path = OUT,
) -> None:
    """Measure, and replace what was measured before.

    Args:
        agents: which agents
        tasks: on which tasks
        presets: with which presets
        out: the file of results
    """
    known: dict[str, Any] = json.loads(out.read_text()) if out.exists() else {}
    speeds = known.get("speeds", {})
    for preset in presets:
        for agent in agents:
            for task in tasks:
                if preset == "paper" and task not in PAPER_TASKS:
                    continue
                found = measured(agent, task, preset)
                if freezes(agent, task, preset):
                    found[FROZEN] = measured(agent, task, preset, frozen=True)[SECONDS]
                speeds.setdefault(preset, {}).setdefault(agent, {})[task] = found
                print(preset, agent, task, found, flush=True)
                report = {"machine": machine("torch", "numpy", "numba", "vizdoom")}
                write_json({**report, "speeds": speeds}, out)


if __name__ == "__main__":
    tyro.cli(main)
