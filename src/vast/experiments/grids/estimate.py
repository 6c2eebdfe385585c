"""What a grid costs: core-hours and disk space, from measured speeds.

`speeds.json` has, for each preset, agent and task, core-seconds and bytes, most of them per 1000
environment steps; `python -m benchmarks.speeds` measures it. Where an agent was not
measured on a task, the mean over the tasks where it was stands in, over those with images of the
same size if there are any; where nothing is known of it, nothing is said.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from statistics import mean
from typing import Any

from vast.experiments.grids.directory import GridRun, is_done, run_directory_of, saved_steps
from vast.tasks import TASKS
from vast.training.progress import duration

SPEEDS = "speeds.json"
SECONDS, BURST = "core_seconds_per_1000_steps", "core_seconds_of_burst"
"""of environment steps, and of the training at the end of the burn-in"""
FROZEN = "core_seconds_per_1000_steps_frozen"
"""of environment steps once the encoder no longer trains, where a preset freezes it"""
BYTES, STATE_BYTES = "frame_bytes_per_1000_steps", "state_bytes"
"""of a checkpoint: its frames, and all else"""


class Speeds:
    """How fast runs are: as measured in this grid, or as measured once and for all."""

    def __init__(self, table: Mapping[str, Any] | None = None) -> None:
        text = files("vast.experiments.grids").joinpath(SPEEDS).read_text(encoding="utf-8")
        self._table: Mapping[str, Any] = json.loads(text)["speeds"] if table is None else table
        self._seen: dict[str, float] = {}

    def saw(self, run: GridRun, step: int, seconds: float) -> None:
        """See how long a run has taken so far; its condition's other runs will be as fast."""
        if step > 0 and seconds > 0:
            self._seen[run.condition.name] = seconds / step

    def seconds_per_step(self, run: GridRun) -> float | None:
        """Return the time of a step; None if it is unknown."""
        seen = self._seen.get(run.condition.name)
        if seen is not None:
            return seen
        known = self.measured(run, SECONDS)
        return None if known is None else known / 1000

    def knows(self, run: GridRun) -> bool:
        """Return whether the agent of a run was measured on its task."""
        config = run.condition.config
        return config.task in self._table.get(config.preset, {}).get(config.agent, {})

    def measured(self, run: GridRun, what: str) -> float | None:
        """Return what was measured once and for all, per 1000 steps."""
        config = run.condition.config
        tasks = self._table.get(config.preset, {}).get(config.agent, {})
        shape = _shape(config.task)
        alike = [name for name in tasks if shape is not None and _shape(name) == shape]
        names = [config.task] if config.task in tasks else alike or tasks
        known = [float(tasks[name][what]) for name in names if what in tasks[name]]
        return mean(known) if known else None


def _shape(task: str) -> tuple[int, ...] | None:
    """Return the shape of a task's observations, on which the networks' cost depends."""
    return TASKS[task].shape if task in TASKS else None


@dataclass(frozen=True)
class Estimate:
    """What is left to do of a grid."""

    runs: int
    finished: int
    steps: int
    """environment steps of the runs that are not finished"""
    core_hours: float
    gigabytes: float
    """of all checkpoints in the end"""
    unknown: tuple[str, ...]
    """agents whose speed was never measured; the numbers above do not contain their runs"""
    assumed: tuple[str, ...] = ()
    """agents on tasks where only their speed on other tasks is known"""

    def lines(self, workers: int) -> list[str]:
        """Return the estimate in words."""
        hours = duration(3600 * self.core_hours / workers)
        found = [
            f"{self.runs} runs, {self.finished} of them finished",
            f"{self.steps:,} environment steps to go",
            f"about {self.core_hours:.1f} core-hours, {hours} with {workers} at a time",
            f"about {self.gigabytes:.1f} GB of checkpoints",
        ]
        if self.assumed:
            found.append(f"assumed as fast as on other tasks: {', '.join(self.assumed)}")
        if self.unknown:
            found.append(f"without {', '.join(self.unknown)}, whose speed was never measured")
        return found


def estimate(
    directory: Path,
    runs: Iterable[GridRun],
    speeds: Speeds,
    elsewhere: Mapping[str, int] | None = None,
) -> Estimate:
    """Return what the unfinished runs cost, from measured speeds.

    `elsewhere` says up to which steps runs will be taken over from other grids.
    """
    finished = steps = total = 0
    seconds = size = 0.0
    unknown: set[str] = set()
    assumed: dict[str, set[str]] = {}
    for run in runs:
        total += 1
        per_1000, bytes_per_1000 = (speeds.measured(run, what) for what in (SECONDS, BYTES))
        size += (bytes_per_1000 or 0.0) * kept_steps(run) / 1000
        size += speeds.measured(run, STATE_BYTES) or 0.0
        known = (elsewhere or {}).get(run.name, 0)
        if is_done(directory, run) or known >= run.steps:
            finished += 1
            continue
        saved = max(known, saved_steps(run_directory_of(directory, run)))
        left = max(0, run.steps - max(run.condition.begins, saved))
        steps += left
        agent = f"{run.condition.config.agent} ({run.condition.config.preset})"
        if per_1000 is None:
            unknown.add(agent)
        else:
            if not speeds.knows(run):
                assumed.setdefault(agent, set()).add(run.condition.task)
            frozen = min(left, frozen_steps(run))
            per_1000_frozen = speeds.measured(run, FROZEN) or per_1000
            seconds += _with_tests(run, left - frozen) * per_1000 / 1000
            seconds += _with_tests(run, frozen) * per_1000_frozen / 1000
            burst = 0.0 if max(run.condition.begins, saved) > 0 else speeds.measured(run, BURST)
            seconds += burst or 0.0
    return Estimate(
        total,
        finished,
        steps,
        seconds / 3600,
        size / 1e9,
        tuple(sorted(unknown)),
        tuple(f"{who} on {' and '.join(sorted(tasks))}" for who, tasks in sorted(assumed.items())),
    )


def frozen_steps(run: GridRun) -> int:
    """Return for how many steps of a run its encoder no longer trains."""
    training = getattr(run.condition.config.settings, "training", None)
    after = getattr(training, "freeze_after", None)
    return 0 if after is None else max(0, run.steps - after)


def _with_tests(run: GridRun, steps: int) -> int:
    loop = run.condition.config.loop
    return steps + steps // loop.eval_every * loop.eval_steps


def kept_steps(run: GridRun) -> int:
    """Return for how many steps a run keeps frames; a fork shares those before it."""
    replay = getattr(run.condition.config.settings, "replay", None)
    capacity = getattr(replay, "capacity", replay)
    steps = run.steps - run.condition.begins
    return min(steps, capacity) if isinstance(capacity, int) else steps
