"""Runs of earlier studies, recorded as test epochs only, beside the figures' with all metrics.

Both have the preset `cpu` of their time, the baselines with the best of their trials since, and the
same steps: what changed in between, by intention or not, would show here.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from vast.analysis.claim_rows import Row, name
from vast.analysis.comparison import METRIC
from vast.analysis.statistics import mean_within
from vast.analysis.statistics.estimates import number
from vast.experiments.results import RunRecord, load_study


class Window(NamedTuple):
    """Steps that the runs of earlier studies and of a grid have in common."""

    studies: tuple[str, ...]
    grid: str
    task: str
    arm: str
    start: int
    """tests after this step count"""
    end: int
    label: str | None = None
    """of the studies' runs, where they are of several agents"""


PLUS_MAZE = ("plus-maze", "plus-maze-again")
"""the same study on two processors"""
WINDOWS = (
    Window(("t-maze",), "fig1", "t-maze", "vast", 7_500, 10_000),
    Window(PLUS_MAZE, "fig6", "plus-maze", "vast-75k", 20_000, 30_000),
    Window(PLUS_MAZE, "fig6", "plus-maze", "vast-75k", 37_500, 40_000),
    *(
        Window(("agents",), "fig6", "plus-maze", arm, 20_000, 30_000, label)
        for arm, label in (
            ("nec-75k", "NEC"),
            ("mfec", "MFEC"),
            ("ddqn-75k", "Prioritized DDQN"),
            ("lsh", "LSH"),
        )
    ),
    Window(("h-maze",), "fig5", "h-maze", "vast", 130_000, 150_000),
    Window(("large-maze",), "fig3", "large-maze", "vast", 300_000, 400_000),
    Window(("large-maze-hazards",), "fig3", "large-maze-hazards", "vast", 300_000, 400_000),
)


def rows(records: Mapping[str, Sequence[RunRecord]]) -> list[Row]:
    """Return the reward per step of both in each window, from the lowest seed to the highest."""
    found = []
    for window in WINDOWS:
        now = [
            mean_within(*run.curve(METRIC), window.start, window.end)
            for run in records.get(window.grid, ())
            if (run.task, name(run)) == (window.task, window.arm)
        ]
        if now:
            statistic = f"reward per step, {window.start:,} to {window.end:,}"
            whose = window.task if window.label is None else f"{window.task}, {window.label}"
            for study in window.studies:
                what = f"{whose}, study `{study}`"
                found.append(Row(what, statistic, _range(list(_earlier(study, window)))))
            found.append(Row(f"{whose}, `{window.grid}`", statistic, _range(now)))
    return found


def _earlier(study: str, window: Window) -> Iterator[float]:
    for run in load_study(study)["runs"]:
        if window.label not in (None, run.get("label")):
            continue
        steps, values = np.array(run["step"]), np.array(run["reward_per_step"])
        yield mean_within(steps, values, window.start, window.end)


def _range(values: Sequence[float]) -> str:
    return f"{number(min(values))} to {number(max(values))} (n = {len(values)})"
