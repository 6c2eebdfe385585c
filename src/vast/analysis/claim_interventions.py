"""What tests the claims on agents whose world changes: a teleporter opens, rewards are reversed."""

from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import NamedTuple

from vast.analysis.arms import flat
from vast.analysis.claim_rows import (
    NEAR,
    OURS,
    Row,
    Score,
    against_others,
    name,
    pairs,
    rows_by_arm,
)
from vast.analysis.comparison import METRIC
from vast.analysis.paper.lines import by_arm, intervention_steps, kind
from vast.analysis.statistics import mean_within, median, steps_to
from vast.experiments.figures.fig6 import REPLAY
from vast.experiments.results import RunRecord

WINDOW = 10_000
"""environment steps in which the use of the teleporter is averaged"""
REGULAR = 0.5
"""share of episodes that make up regular use, in two tests in a row"""


# --- the teleporter -------------------------------------------------------------------------------


class TeleporterScores(NamedTuple):
    """What is measured of each run after the teleporter opened."""

    use: dict[str, Score]
    """share of test episodes through it, window by window"""
    late_use: dict[str, Score]
    """the last of these"""
    reward: dict[str, Score]
    """per step, before it opened and late"""
    gain: dict[str, Score]
    """of these two"""
    regular: dict[str, Score]
    """when use becomes regular"""


def teleporter_scores(runs: Sequence[RunRecord]) -> TeleporterScores:
    """Return what to measure, up to three windows after the teleporter opened."""
    opened = max(intervention_steps(runs), default=0)
    last = max((run.steps for run in runs), default=opened)
    metric = "eval/with_teleporter"
    starts = range(0, min(last - opened, 3 * WINDOW), WINDOW)
    # The last window of all: how good an agent is with the teleporter, beside how it was before.
    late = starts[-1] if starts else 0

    def window(start: int, metric: str) -> Score:
        return lambda run: mean_within(*run.curve(metric), opened + start, opened + start + WINDOW)

    def use(start: int) -> dict[str, Score]:
        name = f"share of test episodes, steps {start:,} to {start + WINDOW:,} after"
        return {name: window(start, metric)}

    before, after = window(-WINDOW, METRIC), window(late, METRIC)
    return TeleporterScores(
        {name: score for start in starts for name, score in use(start).items()},
        use(late),
        {
            f"reward per step, {WINDOW:,} steps before": before,
            f"reward per step, steps {late:,} to {late + WINDOW:,} after": after,
        },
        {"reward per step gained between these": lambda run: after(run) - before(run)},
        {
            f"steps to a share of {REGULAR:g} in two tests, median": lambda run: steps_to(
                *run.curve(metric), REGULAR, after=opened, in_a_row=2
            )
        },
    )


def teleporter(records: Iterable[RunRecord]) -> list[Row]:
    """Return how VaST comes to use the teleporter, and whether a shown run makes a difference."""
    runs = [run for run in records if run.agent == "vast" and run.fork]
    scores = teleporter_scores(runs)
    found = rows_by_arm(runs, {**scores.use, **scores.reward})
    found += rows_by_arm(runs, scores.regular, median)
    for arm in by_arm(run for run in runs if run.fork == "no-run"):
        for fork in ("rewarded", "penalised"):
            both = [run for run in runs if run.arm == arm[0].arm and run.fork in (fork, "no-run")]
            found += pairs(both, f"{arm[0].arm}/{fork}", scores.late_use)
    return found


def teleporter_agents(records: Iterable[RunRecord]) -> list[Row]:
    """Return how each agent comes to use the teleporter after a shown run, and what it gains."""
    runs = [run for run in records if run.fork in ("rewarded", "penalised")]
    scores = teleporter_scores(runs)
    found = rows_by_arm(runs, {**scores.use, **scores.reward, **scores.gain})
    found += rows_by_arm(runs, scores.regular, median)
    for fork in ("rewarded", "penalised"):
        family = [run for run in runs if run.fork == fork]
        ours = tuple(f"{arm}/{fork}" for arm in OURS)
        found += against_others(family, ours, {**scores.late_use, **scores.gain})
    return found


# --- the reversal ---------------------------------------------------------------------------------


def recovery(records: Sequence[RunRecord]) -> list[Row]:
    """Return how good each arm is before and long after the reversal, and when it has recovered."""
    runs = [run for run in records if run.interventions]
    change = min(intervention_steps(runs), default=0)

    def before(run: RunRecord) -> float:
        return mean_within(*run.curve(METRIC), 2 * change / 3, change)

    def recovered(run: RunRecord) -> float:
        # An agent that had learned nothing has nothing to recover.
        level = before(run)
        return steps_to(*run.curve(METRIC), NEAR * level, after=change) if level > 0 else inf

    def long_after(run: RunRecord) -> float:
        return mean_within(*run.curve(METRIC), run.steps - (run.steps - change) / 3, run.steps)

    late: dict[str, Score] = {"reward per step, last third after the reversal": long_after}
    steps: dict[str, Score] = {f"steps to {NEAR:.0%} of it after the reversal, median": recovered}
    return (
        rows_by_arm(runs, {"reward per step before": before, **late})
        + rows_by_arm(runs, steps, median)
        + agents_after_reversal(runs, late)
        + sizes_after_reversal(runs, late)
    )


def replay_size(run: RunRecord) -> int | None:
    """Return how many frames the replay of a run holds; None if its agent has none."""
    size = dict(flat(run.config["settings"])).get(REPLAY.get(run.agent, ""))
    return None if size is None else int(size)


def agents_after_reversal(runs: Sequence[RunRecord], scores: Mapping[str, Score]) -> list[Row]:
    """Return how each VaST compares with agents that have a replay of its size, or none."""
    found = []
    for arm in by_arm(run for run in runs if run.agent == "vast"):
        sizes = (replay_size(arm[0]), None)
        others = [run for run in runs if run.agent != "vast" and replay_size(run) in sizes]
        found += pairs([*arm, *others], name(arm[0]), scores)
    return found


def sizes_after_reversal(runs: Sequence[RunRecord], scores: Mapping[str, Score]) -> list[Row]:
    """Return how a small replay compares with a large one, agent by agent."""
    kinds: dict[str, list[RunRecord]] = {}
    for arm in by_arm(runs):
        deleting = dict(flat(arm[0].config["settings"])).get("replay.delete_evicted")
        if replay_size(arm[0]) is not None and not deleting:
            kinds.setdefault(kind(arm[0]), []).extend(arm)
    found = []
    for same in kinds.values():
        smallest = min(same, key=lambda run: replay_size(run) or 0)
        found += pairs(same, name(smallest), scores)
    return found
