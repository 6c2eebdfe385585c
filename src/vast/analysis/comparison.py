"""Arms compared with each other: what `vast compare` prints and writes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import isinf, nan
from typing import Any

import numpy as np

from vast.analysis.scores import SCORES, Arms, sort_arms
from vast.analysis.statistics import (
    Estimate,
    PairedTest,
    Profile,
    ToleranceInterval,
    area_under_curve,
    estimate,
    holm,
    interquartile_mean,
    mean,
    mean_of_last,
    median,
    paired_permutation_test,
    performance_profile,
    probability_of_improvement,
    steps_to,
    tolerance_interval,
)
from vast.checks import at_least
from vast.errors import UserError, unknown
from vast.experiments.results import RunRecord

METRIC = "eval/reward_per_step"
"""`eval/mean_return` counts only the episodes that ended, and so flatters agents that loop"""
NEAR_BEST = 0.9
"""of the way from the first test to the best arm's last third: the default threshold"""
ALL_TASKS = "all tasks"


@dataclass(frozen=True)
class ArmSummary:
    """One arm in one task."""

    arm: str
    seeds: tuple[int, ...]
    scores: tuple[float, ...]
    """of each seed"""
    mean: Estimate
    interquartile_mean: Estimate
    tolerance: ToleranceInterval
    profile: Profile
    area: Estimate | None = None
    """interquartile mean of the areas under the curves; None over several tasks"""
    steps_to: Estimate | None = None
    """median of the steps to the threshold; None over several tasks"""
    reached: int = 0
    """seeds that ever reached it"""

    @property
    def caveats(self) -> list[str]:
        """What must be said beside its numbers."""
        return [said for said in (self.mean.caveat, self.tolerance.caveat) if said]

    def plain(self) -> dict[str, Any]:
        """Return it as JSON."""
        found: dict[str, Any] = {
            "seeds": list(self.seeds),
            "scores": list(self.scores),
            "mean": self.mean.plain(),
            "interquartile_mean": self.interquartile_mean.plain(),
            "tolerance_interval": self.tolerance.plain(),
            "performance_profile": self.profile.plain(),
        }
        if self.area is not None and self.steps_to is not None:
            found["area_under_curve"] = self.area.plain()
            found["steps_to_threshold"] = {**self.steps_to.plain(), "reached": self.reached}
        return found


@dataclass(frozen=True)
class Pair:
    """Two arms, by the seeds that both have."""

    ours: str
    theirs: str
    improvement: Estimate
    """probability that a run of `ours` scores above one of `theirs`"""
    test: PairedTest | None
    """None if they share fewer than two seeds"""
    adjusted: float = nan
    """p-value by Holm's correction over all pairs of the task"""

    @property
    def caveats(self) -> list[str]:
        """What must be said beside its numbers."""
        said = self.test.caveat if self.test else "fewer than two seeds in common: no test"
        return [text for text in (self.improvement.caveat, said) if text]

    def plain(self) -> dict[str, Any]:
        """Return it as JSON."""
        test = None if self.test is None else {**self.test.plain(), "p_holm": self.adjusted}
        return {
            "ours": self.ours,
            "theirs": self.theirs,
            "probability_of_improvement": self.improvement.plain(),
            "paired_permutation_test": test,
        }


@dataclass(frozen=True)
class TaskComparison:
    """All arms in one task, or over all tasks."""

    task: str
    until: int | None
    threshold: float | None
    arms: tuple[ArmSummary, ...]
    pairs: tuple[Pair, ...]

    @property
    def caveats(self) -> list[str]:
        """What must be said beside its numbers, each sentence once."""
        said = [text for arm in self.arms for text in arm.caveats]
        said += [text for pair in self.pairs for text in pair.caveats]
        return list(dict.fromkeys(said))

    def plain(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {
            "until_step": self.until,
            "threshold": self.threshold,
            "arms": {arm.arm: arm.plain() for arm in self.arms},
            "pairs": [pair.plain() for pair in self.pairs],
            "caveats": self.caveats,
        }


@dataclass(frozen=True)
class Comparison:
    """The arms of some runs, task by task, and over all tasks if there are several."""

    metric: str
    score: str
    tasks: tuple[TaskComparison, ...]
    left_out: tuple[str, ...]

    def plain(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {
            "format": "vast comparison",
            "version": 1,
            "metric": self.metric,
            "score": self.score,
            "tasks": {task.task: task.plain() for task in self.tasks},
            "left_out": list(self.left_out),
        }


def compare(
    records: Sequence[RunRecord],
    metric: str = METRIC,
    score: str = "last-third",
    *,
    until: int | None = None,
    threshold: float | None = None,
    against: str | None = None,
) -> Comparison:
    """Compare the arms of some runs; with `against`, only that arm with each other one."""
    if score not in SCORES:
        raise unknown("score", score, SCORES)
    if until is not None:
        at_least(1, until=until)
    sorted_arms = sort_arms(records, metric, until)
    left_out = tuple(line for arms in sorted_arms for line in arms.left_out)
    tasks = [arms for arms in sorted_arms if arms.runs]
    if not tasks:
        raise UserError(f"no run can be compared: {'; '.join(left_out) or 'none is given'}")
    names = dict.fromkeys(arm for arms in tasks for arm in arms.runs)
    if against is not None and against not in names:
        raise unknown("arm", against, names)
    found = [_task(arms, score, threshold, against) for arms in tasks]
    if len(tasks) > 1:
        overall = _all_tasks(tasks, score, against)
        found += [overall] if overall else []
    return Comparison(metric, score, tuple(found), left_out)


def _task(arms: Arms, score: str, threshold: float | None, against: str | None) -> TaskComparison:
    reach = _default_threshold(arms) if threshold is None else threshold
    scores = {arm: arms.scores(arm, score) for arm in arms.runs}
    levels = np.unique([value for seeds in scores.values() for value in seeds.values()])
    summaries = []
    for arm, by_seed in scores.items():
        curves = arms.curves(arm).values()
        late = [steps_to(*curve, reach) for curve in curves]
        areas = [area_under_curve(*curve) for curve in curves]
        summaries.append(
            ArmSummary(
                arm,
                tuple(by_seed),
                tuple(by_seed.values()),
                estimate(mean, [*by_seed.values()]),
                estimate(interquartile_mean, [*by_seed.values()]),
                tolerance_interval([*by_seed.values()]),
                performance_profile([*by_seed.values()], levels),
                estimate(interquartile_mean, areas),
                estimate(median, late),
                sum(not isinf(steps) for steps in late),
            )
        )
    table = {arm: {seed: [value] for seed, value in by.items()} for arm, by in scores.items()}
    return TaskComparison(
        arms.task, arms.until, reach, tuple(summaries), compare_pairs(table, against)
    )


def _default_threshold(arms: Arms) -> float:
    """Return most of the way from the first test of all runs to the best arm's last third."""
    curves = {arm: arms.curves(arm).values() for arm in arms.runs}
    first = float(np.mean([values[0] for runs in curves.values() for _, values in runs]))
    best = max(float(np.mean([mean_of_last(*curve) for curve in runs])) for runs in curves.values())
    return first + NEAR_BEST * (best - first)


def _all_tasks(tasks: Sequence[Arms], score: str, against: str | None) -> TaskComparison | None:
    """Compare the arms that all tasks have, by scores from 0, a task's worst run, to 1, its best.

    A seed counts if an arm has it in every task. None if there are no such arms and seeds.
    """
    rescaled: list[dict[str, dict[int, float]]] = []
    for arms in tasks:
        scores = {arm: arms.scores(arm, score) for arm in arms.runs}
        every = [value for by_seed in scores.values() for value in by_seed.values()]
        low, span = min(every), max(every) - min(every) or 1.0
        rescaled.append(
            {
                arm: {seed: (value - low) / span for seed, value in by_seed.items()}
                for arm, by_seed in scores.items()
            }
        )
    table: dict[str, dict[int, list[float]]] = {}
    for arm in rescaled[0]:
        if all(arm in scores for scores in rescaled):
            seeds = set.intersection(*(set(scores[arm]) for scores in rescaled))
            if seeds:
                table[arm] = {
                    seed: [scores[arm][seed] for scores in rescaled] for seed in sorted(seeds)
                }
    if not table or (against is not None and against not in table):
        return None
    levels = np.linspace(0, 1, 21)
    summaries = []
    for arm, by_seed in table.items():
        rows = np.array([*by_seed.values()])
        means = rows.mean(axis=1)
        summaries.append(
            ArmSummary(
                arm,
                tuple(by_seed),
                tuple(means.tolist()),
                estimate(mean, rows),
                estimate(interquartile_mean, rows),
                tolerance_interval(means),
                performance_profile(rows, levels),
            )
        )
    return TaskComparison(ALL_TASKS, None, None, tuple(summaries), compare_pairs(table, against))


def compare_pairs(
    table: Mapping[str, Mapping[int, Sequence[float]]], against: str | None
) -> tuple[Pair, ...]:
    """Compare every two arms of scores by seed, and adjust the p-values for their number."""
    if against is None:
        chosen = list(combinations(table, 2))
    else:
        chosen = [(against, arm) for arm in table if arm != against and against in table]
    found = []
    for ours, theirs in chosen:
        one, other = table[ours], table[theirs]
        shared = sorted(set(one) & set(other))
        improvement = estimate(probability_of_improvement, [*one.values()], [*other.values()])
        test = None
        if len(shared) > 1:
            test = paired_permutation_test(
                [one[seed] for seed in shared], [other[seed] for seed in shared]
            )
        found.append((ours, theirs, improvement, test))
    adjusted = iter(holm([test.p for *_, test in found if test is not None]))
    return tuple(
        Pair(*pair, adjusted=nan if pair[-1] is None else next(adjusted)) for pair in found
    )
