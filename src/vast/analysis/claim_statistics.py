"""The statistics of the paper's claims: from records of runs to rows of a table, seeds as units."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite, nan

import numpy as np

from vast.analysis.comparison import METRIC, compare
from vast.analysis.paper.bits import n_bits
from vast.analysis.paper.lines import by_arm, intervention_steps
from vast.analysis.statistics import (
    area_under_curve,
    estimate,
    interquartile_mean,
    mean_of_last,
    mean_within,
    median,
    steps_to,
)
from vast.analysis.statistics.estimates import number
from vast.experiments.results import RunRecord
from vast.experiments.two_episodes import run as two_episodes

Records = Mapping[str, Sequence[RunRecord]]
"""by the name of their grid"""
Score = Callable[[RunRecord], float]
"""one number per run; nan if it has none"""
NEAR = 0.9
"""of a reward per step: as good as reached"""
WINDOW = 10_000
"""environment steps in which the use of the teleporter is averaged"""
REGULAR = 0.5
"""share of episodes that make up regular use, in two tests in a row"""
GAMES = "eval/score"
"""mean over the whole games of a test"""


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


def rows_by_arm(
    records: Iterable[RunRecord],
    statistics: Mapping[str, Score],
    summary: Callable[..., np.ndarray] = interquartile_mean,
) -> list[Row]:
    """Return the summary over seeds of each statistic, arm by arm."""
    found = []
    for runs in by_arm(records):
        for name, score in statistics.items():
            values = [score(run) for run in runs]
            known = [value for value in values if value == value]
            if known:
                shown = str(estimate(summary, known))
                if summary is median:
                    reached = sum(isfinite(value) for value in known)
                    shown += f"; {reached} of {len(known)} seeds"
                found.append(Row(label(runs[0]), name, shown))
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


def compared(records: Sequence[RunRecord], task: str, *ours: str) -> list[Row]:
    """Return every arm's reward per step in the last third, and each of ours against the others.

    Each of ours is compared in a family of its own, without the rest of ours.
    """
    runs = [run for run in records if run.task == task]
    score = {"reward per step, last third of the tests": last_third(METRIC)}
    found = rows_by_arm(runs, score)
    for arm in ours:
        family = [run for run in runs if run.arm == arm or run.arm not in ours]
        found += pairs(family, arm)
    return found


def large_maze(records: Sequence[RunRecord], task: str) -> list[Row]:
    """Return how agents compare, and what plain VaST gains from extensions of decisions alone."""
    probed_runs = [run for run in records if run.task == task and "decisions" in run.probes]
    names = list(dict.fromkeys(name for run in probed_runs for name in run.probes["decisions"]))

    def goals(name: str) -> Score:
        return lambda run: float(run.probes["decisions"][name]["goals"])

    tests = {f"goals in a test of the trained agent, {name}": goals(name) for name in names}
    return compared(records, task, "plain", "vast") + rows_by_arm(probed_runs, tests)


def pairs(
    runs: Sequence[RunRecord], ours: str, metric: str = METRIC, score: str = "last-third"
) -> list[Row]:
    """Return how one arm compares with every other one; nothing if it is alone or not there."""
    labels = {run.arm: run.label for run in runs}
    if ours not in labels or len(labels) < 2:
        return []
    found = []
    for pair in compare(runs, metric, score, against=ours).tasks[0].pairs:
        what = f"{labels[ours]} > {labels.get(pair.theirs, pair.theirs)}"
        of_what = "" if score == "last-third" else f", {score}"
        found.append(Row(what, f"probability of improvement{of_what}", str(pair.improvement)))
        if pair.test is not None:
            told = f"{number(pair.adjusted)} ({pair.test.mark})"
            found.append(Row(what, f"p, paired permutation test, Holm{of_what}", told))
    return found


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
    for name, score in scores.items():
        values = [score(arms[0][seed]) - score(arms[1][seed]) for seed in seeds]
        known = [value for value in values if value == value]
        if known:
            lower = f"lower in {sum(value < 0 for value in known)} of {len(known)} seeds"
            shown = f"{estimate(interquartile_mean, known)}; {lower}"
            found.append(Row(what, f"{name}, same seed", shown))
    return found


def by_bits(records: Iterable[RunRecord], statistics: Mapping[str, Score]) -> list[Row]:
    """Return the statistics of runs by their number of bits, the largest first."""
    return rows_by_arm(sorted(records, key=lambda run: -n_bits(run)), statistics)


# --- single claims --------------------------------------------------------------------------------


def one_run(records: Iterable[RunRecord]) -> list[Row]:
    """Return what one run without reward did to the values of the states that were new."""

    def new_values(run: RunRecord) -> list[float | None]:
        along = run.probes.get("one-run", {}).get("run", {"before": (), "after": ()})
        both = zip(along["before"], along["after"], strict=True)
        return [after for before, after in both if before is None]

    def mean_value(run: RunRecord) -> float:
        known = [value for value in new_values(run) if value is not None]
        return float(np.mean(known)) if known else nan

    runs = [run for run in records if "one-run" in run.probes]
    found = rows_by_arm(
        runs,
        {
            "new states on the run": lambda run: len(new_values(run)),
            "of these, with a value afterwards": lambda run: sum(
                value is not None for value in new_values(run)
            ),
            "their mean value": mean_value,
        },
    )
    for arm in by_arm(runs):
        same = sum(bool(run.probes["one-run"]["same_networks"]) for run in arm)
        found.append(Row(label(arm[0]), "networks unchanged", f"{same} of {len(arm)} seeds"))
    return found


def crossing_episodes() -> list[Row]:
    """Return the values of the right arm after two episodes that cross."""
    data = two_episodes()
    right = data.episodes[0].observations[: len(data.episodic_values[0]), 0] > 1
    planned = data.cell_values[data.cells[:, 0] > 1]
    name = "largest value in the right arm"
    return [
        Row("episodic control", name, number(float(data.episodic_values[0][right].max()))),
        Row("prioritized sweeping", name, number(float(planned.max()))),
    ]


def steps_per_goal(records: Iterable[RunRecord]) -> list[Row]:
    """Return after how many steps a random policy is rewarded: episodes end at the goal only."""

    def score(run: RunRecord) -> float:
        steps, episodes = run.curve("train/episodes")
        return float(steps[-1] / episodes[-1]) if len(steps) and episodes[-1] else inf

    return rows_by_arm(records, {"steps per reward": score})


def teleporter(records: Iterable[RunRecord], *forks: str) -> list[Row]:
    """Return how use of the teleporter and reward grow after it opened, and when use is regular."""
    runs = [run for run in records if run.fork in forks]
    opened = max(intervention_steps(runs), default=0)
    last = max((run.steps for run in runs), default=opened)
    metric = "eval/with_teleporter"
    # The last window of all: how good an agent is with the teleporter, beside how it was before.
    late = max(0, min(last - opened, 3 * WINDOW) - WINDOW)

    def window(start: int, metric: str = metric) -> Score:
        return lambda run: mean_within(*run.curve(metric), opened + start, opened + start + WINDOW)

    scores = {
        f"share of test episodes, steps {start:,} to {start + WINDOW:,} after": window(start)
        for start in range(0, min(last - opened, 3 * WINDOW), WINDOW)
    }
    scores[f"reward per step, {WINDOW:,} steps before"] = window(-WINDOW, METRIC)
    name = f"reward per step, steps {late:,} to {late + WINDOW:,} after"
    scores[name] = window(late, METRIC)
    regular: dict[str, Score] = {
        f"steps to a share of {REGULAR:g} in two tests, median": lambda run: steps_to(
            *run.curve(metric), REGULAR, after=opened, in_a_row=2
        )
    }
    return rows_by_arm(runs, scores) + rows_by_arm(runs, regular, median)


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

    both: dict[str, Score] = {
        "reward per step before": before,
        "reward per step, last third after the reversal": long_after,
    }
    rows = rows_by_arm(runs, both)
    late: dict[str, Score] = {f"steps to {NEAR:.0%} of it after the reversal, median": recovered}
    return rows + rows_by_arm(runs, late, median)


def latent(records: Sequence[RunRecord]) -> list[Row]:
    """Return how good each arm is once it is shown rewards, and how soon it is near its best."""

    def hidden(run: RunRecord) -> int:
        return int(run.config["settings"].get("latent_steps", 0))

    def rewarded(run: RunRecord) -> float:
        return mean_within(*run.curve(METRIC), hidden(run), run.steps)

    def final(run: RunRecord) -> float:
        third = (run.steps - hidden(run)) / 3
        return mean_within(*run.curve(METRIC), run.steps - third, run.steps)

    # Rewards may be negative all along, so that a share of the rise counts, not of the level.
    levels = {}
    for arm in by_arm(records):
        worst = min(float(run.curve(METRIC)[1].min()) for run in arm)
        rise = float(np.mean([final(run) for run in arm])) - worst
        levels[arm[0].arm] = worst + NEAR * rise if rise > 0 else inf

    def late(run: RunRecord) -> float:
        return steps_to(*run.curve(METRIC), levels[run.arm], after=hidden(run))

    both: dict[str, Score] = {
        "reward per step, all tests with rewards": rewarded,
        "reward per step, last third of them": final,
    }
    name = f"steps with rewards to {NEAR:.0%} of the way from the arm's worst test to them, median"
    told: dict[str, Score] = {name: late}
    return rows_by_arm(records, both) + rows_by_arm(records, told, median)


def pong(records: Iterable[RunRecord]) -> list[Row]:
    """Return the score of test games, when it is 0, and the terms of the free energy."""
    runs = with_lengths([run for run in records if run.task == "pong"])
    terms: dict[str, Score] = {
        "reconstruction, last third (nats)": last_third("train/reconstruction"),
        "transition - entropy, last third (nats)": lambda run: (
            last_third("train/transition")(run) - last_third("train/entropy")(run)
        ),
    }
    told: dict[str, Score] = {
        "area under the score of test games, per step": lambda run: area_under_curve(
            *run.curve(GAMES)
        ),
        "score of test games, last third": last_third(GAMES),
        **terms,
    }
    won: dict[str, Score] = {
        "steps to a score of 0 in two tests, median": lambda run: steps_to(
            *run.curve(GAMES), 0.0, in_a_row=2
        )
    }
    histories = [run for run in runs if run.arm in ("k3", "k0")]
    return (
        rows_by_arm(runs, told)
        + rows_by_arm(runs, won, median)
        + pairs(histories, "k3", GAMES, "area")
        + differences(histories, "k3", "k0", terms)
    )


def with_lengths(runs: Sequence[RunRecord]) -> list[RunRecord]:
    """Return runs whose labels say how long they are, if they are not all of one length."""
    if len({run.steps for run in runs}) < 2:
        return list(runs)
    return [replace(run, label=f"{run.label}, {run.steps:,} steps") for run in runs]


def long_pong(records: Sequence[RunRecord]) -> list[Row]:
    """Return the score of test games in the last fifth of longer runs."""

    def score(run: RunRecord) -> float:
        return mean_within(*run.curve(GAMES), 0.8 * run.steps, run.steps)

    found = []
    for length in sorted({run.steps for run in records}):
        name = f"score of test games, steps {round(0.8 * length):,} to {length:,}"
        found += rows_by_arm([run for run in records if run.steps == length], {name: score})
    return found


def trials(records: Sequence[RunRecord]) -> list[Row]:
    """Return the reward per step of every trial, the best of each agent first."""
    score = last_third(METRIC)
    found = []
    by_agent: dict[str, list[tuple[float, str]]] = {}
    for run in records:
        agent, _, trial = run.label.rpartition(", ")
        by_agent.setdefault(f"{run.task}, {agent}", []).append((score(run), trial))
    for agent, results in by_agent.items():
        for result, trial in sorted(results, key=lambda pair: -pair[0]):
            found.append(Row(agent, trial, number(result)))
    return found


def tree_likeness(records: Iterable[RunRecord]) -> list[Row]:
    """Return predecessors per state and the share of revisited pairs, task by task."""
    found = []
    runs = list(records)
    for task in dict.fromkeys(run.task for run in runs):
        statistics = {
            "states": probed("tree", "states"),
            "predecessors per state, mean": probed("tree", "mean_predecessors"),
            "states with several predecessors (share)": probed("tree", "several_predecessors"),
            "revisited state-action pairs (share)": probed("tree", "revisited"),
        }
        rows = rows_by_arm([run for run in runs if run.task == task], statistics)
        found += [Row(f"{task}, {row.what}", row.statistic, row.result) for row in rows]
    return found
