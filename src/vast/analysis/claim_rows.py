"""The rows of a claim's table: scores of runs, summed up arm by arm or compared, seeds as units."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, isnan, nan

import numpy as np

from vast.analysis.comparison import compare_pairs
from vast.analysis.paper.lines import by_arm
from vast.analysis.statistics import (
    estimate,
    interquartile_mean,
    mean_of_last,
    mean_within,
    median,
)
from vast.analysis.statistics.estimates import number
from vast.experiments.results import RunRecord

Records = Mapping[str, Sequence[RunRecord]]
"""by the name of their grid"""
Score = Callable[[RunRecord], float]
"""one number per run; nan if it has none"""
OURS = ("vast", "plain")
"""VaST with extensions and without"""
NEAR = 0.9
"""of a reward per step: as good as reached"""


@dataclass(frozen=True)
class Row:
    """One line of a claim's table."""

    what: str
    """an arm, or two"""
    statistic: str
    result: str
    """with the number of seeds, and whether they are too few"""


def label(record: RunRecord) -> str:
    """Return what a table calls the arm of a run."""
    return f"{record.label}, {record.fork}" if record.fork else record.label


def name(record: RunRecord) -> str:
    """Return what tells the arm of a run, and its fork, from all others."""
    return f"{record.arm}/{record.fork}" if record.fork else record.arm


def rows_by_arm(
    records: Iterable[RunRecord],
    statistics: Mapping[str, Score],
    summary: Callable[..., np.ndarray] = interquartile_mean,
) -> list[Row]:
    """Return the summary over seeds of each statistic, arm by arm."""
    found = []
    for runs in by_arm(records):
        for statistic, score in statistics.items():
            known = [value for value in map(score, runs) if not isnan(value)]
            if known:
                shown = str(estimate(summary, known))
                if summary is median:
                    reached = sum(isfinite(value) for value in known)
                    shown += f"; {reached} of {len(known)} seeds"
                found.append(Row(label(runs[0]), statistic, shown))
    return found


def last_third(metric: str) -> Score:
    """Return the mean of the last third of a metric's values."""
    return lambda run: mean_of_last(*run.curve(metric))


def first_third(metric: str) -> Score:
    """Return the mean of a metric over the first third of the steps."""
    return lambda run: mean_within(*run.curve(metric), 0, run.steps / 3)


def at_the_end(metric: str) -> Score:
    """Return the last value of a metric."""

    def score(run: RunRecord) -> float:
        values = run.curve(metric)[1]
        return float(values[-1]) if len(values) else nan

    return score


def probed(probe: str, field: str) -> Score:
    """Return a number that a probe measured."""

    def score(run: RunRecord) -> float:
        value = run.probes.get(probe, {}).get(field)
        return nan if value is None else float(value)

    return score


# --- comparisons ----------------------------------------------------------------------------------


def pairs(records: Iterable[RunRecord], ours: str, scores: Mapping[str, Score]) -> list[Row]:
    """Return how one arm (`arm`, or `arm/fork`) compares with every other one, score by score.

    Finished runs only. The p-values of a score are adjusted for the number of other arms, and so is
    the smallest one that is shown beside them. Nothing if the arm is not there, or alone.
    """
    arms = {name(runs[0]): runs for runs in by_arm(run for run in records if run.is_done)}
    labels = {arm: label(runs[0]) for arm, runs in arms.items()}
    found = []
    for statistic, score in scores.items():
        table: dict[str, dict[int, tuple[float]]] = {}
        for arm, runs in arms.items():
            by_seed = {run.seed: (score(run),) for run in runs}
            known = {seed: values for seed, values in by_seed.items() if not isnan(values[0])}
            if known:
                table[arm] = known
        found_pairs = compare_pairs(table, ours)
        tests = sum(pair.test is not None for pair in found_pairs)
        for pair in found_pairs:
            shown = str(pair.improvement)
            if pair.test is not None:
                least = min(1.0, tests * pair.test.smallest_p)
                p = number(pair.adjusted)
                shown += f"; p = {p} (n = {pair.test.n}: at least {number(least)})"
            what = f"{labels[ours]} > {labels[pair.theirs]}"
            found.append(Row(what, f"probability of improvement: {statistic}", shown))
    return found


def against_others(
    runs: Sequence[RunRecord], ours: Sequence[str], scores: Mapping[str, Score]
) -> list[Row]:
    """Return how each of our arms compares with the others, without the rest of ours."""
    return [
        row
        for arm in ours
        for row in pairs(
            [run for run in runs if name(run) == arm or name(run) not in ours], arm, scores
        )
    ]


def differences(
    runs: Sequence[RunRecord], ours: str, theirs: str, scores: Mapping[str, Score]
) -> list[Row]:
    """Return by how much one arm is above another one with the same seed; nothing if alone."""
    arms = [{run.seed: run for run in runs if run.arm == arm} for arm in (ours, theirs)]
    seeds = sorted({*arms[0]} & {*arms[1]})
    if not seeds:
        return []
    what = " - ".join(arm[seeds[0]].label for arm in arms)
    found = []
    for statistic, score in scores.items():
        values = [score(arms[0][seed]) - score(arms[1][seed]) for seed in seeds]
        known = [value for value in values if not isnan(value)]
        if known:
            lower = f"lower in {sum(value < 0 for value in known)} of {len(known)} seeds"
            shown = f"{estimate(interquartile_mean, known)}; {lower}"
            found.append(Row(what, f"{statistic}, same seed", shown))
    return found
