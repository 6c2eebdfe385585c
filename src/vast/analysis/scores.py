"""Runs sorted into arms: which runs are compared, over which steps, and one score per run."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from vast.analysis.statistics import area_under_curve, mean_of_last
from vast.analysis.told_apart import told_apart
from vast.errors import UserError, unknown
from vast.experiments.results import RunRecord

Curve = tuple[NDArray[np.float64], NDArray[np.float64]]
"""steps and values"""
SCORES: dict[str, Callable[..., float]] = {"last-third": mean_of_last, "area": area_under_curve}
"""a curve as one number: the mean of the last third of the tests, or the area per step"""


@dataclass(frozen=True)
class Arms:
    """The runs of one task that can be compared, by arm and seed."""

    task: str
    metric: str
    until: int
    """the last step that counts: the same for all"""
    runs: Mapping[str, Mapping[int, RunRecord]]
    """by arm, and by seed"""
    left_out: tuple[str, ...]
    """which runs do not count, and why"""

    def curves(self, arm: str) -> dict[int, Curve]:
        """Return the metric of each seed of an arm."""
        return {seed: within(run, self.metric, self.until) for seed, run in self.runs[arm].items()}

    def scores(self, arm: str, score: str) -> dict[int, float]:
        """Return one number per seed of an arm."""
        return {seed: SCORES[score](*curve) for seed, curve in self.curves(arm).items()}


def within(run: RunRecord, metric: str, until: float) -> Curve:
    """Return the part of a curve up to a step."""
    steps, values = run.curve(metric)
    return steps[steps <= until], values[steps <= until]


def has_reached(run: RunRecord, step: int) -> bool:
    """Return whether a run has come as far as this; its last row may lie before its last step."""
    steps = run.metrics["step"]
    return (len(steps) > 0 and int(steps[-1]) >= step) or (run.is_done and run.steps >= step)


def up_to(run: RunRecord, step: int) -> RunRecord:
    """Return a run as if it had ended at this step."""
    kept = run.metrics["step"] <= step
    metrics = {name: values[kept] for name, values in run.metrics.items()}
    return replace(run, steps=step, metrics=metrics)


def sort_arms(records: Sequence[RunRecord], metric: str, until: int | None = None) -> list[Arms]:
    """Return the arms of each task, compared up to `until` steps.

    By default that is what the shortest planned run of the task has. Runs that have not come that
    far, or that lack the metric, are left out, and said to be.
    """
    known = sorted({name for record in records for name in record.metrics})
    if metric not in known:
        raise unknown("metric", metric, known)
    named = _named(_without_trunks(records))
    return [
        _arms(task, metric, {key: run for key, run in named.items() if key[0] == task}, until)
        for task in dict.fromkeys(task for task, _, _ in named)
    ]


def _arms(
    task: str, metric: str, named: Mapping[tuple[str, str, int], RunRecord], until: int | None
) -> Arms:
    last = until or min(run.steps for run in named.values())
    kept: dict[str, dict[int, RunRecord]] = {}
    left_out = []
    for (_, arm, seed), run in named.items():
        if not has_reached(run, last):
            steps = run.metrics["step"]
            reached = int(steps[-1]) if len(steps) else 0
            left_out.append(f"{arm}, seed {seed}, on {task}: at step {reached:,} of {last:,}")
        elif not len(within(run, metric, last)[0]):
            left_out.append(f"{arm}, seed {seed}, on {task}: no {metric} up to step {last:,}")
        else:
            kept.setdefault(arm, {})[seed] = run
    ordered = {arm: dict(sorted(runs.items())) for arm, runs in kept.items()}
    return Arms(task, metric, last, ordered, tuple(left_out))


def _without_trunks(records: Sequence[RunRecord]) -> list[RunRecord]:
    """Return the records without the training before a fork, which every fork contains."""
    forked = {(run.task, run.arm) for run in records if run.fork is not None}
    return [run for run in records if run.fork is not None or (run.task, run.arm) not in forked]


def _named(records: Sequence[RunRecord]) -> dict[tuple[str, str, int], RunRecord]:
    """Return the records by task, arm and seed.

    The name of an arm says where its config differs from that of another one of the same name.
    """
    found: dict[tuple[str, str, int], RunRecord] = {}
    for run in told_apart(records):
        name = run.arm if run.fork is None else f"{run.arm}/{run.fork}"
        key = run.task, name, run.seed
        if key in found:
            raise UserError(f"seed {run.seed} of {name!r} on {run.task} is given twice")
        found[key] = run
    return found
