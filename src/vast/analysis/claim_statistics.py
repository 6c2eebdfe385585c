"""What tests each of the paper's claims: from records of runs to the rows of its table."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import inf, nan

import numpy as np

from vast.analysis.claim_rows import (
    NEAR,
    OURS,
    Row,
    Score,
    against_others,
    differences,
    label,
    last_third,
    name,
    pairs,
    probed,
    rows_by_arm,
)
from vast.analysis.comparison import METRIC
from vast.analysis.paper.bits import n_bits
from vast.analysis.paper.lines import agent_label, by_arm
from vast.analysis.scores import has_reached, up_to
from vast.analysis.statistics import (
    area_under_curve,
    mean_within,
    median,
    steps_to,
)
from vast.analysis.statistics.estimates import number
from vast.experiments.results import RunRecord
from vast.experiments.two_episodes import run as two_episodes

GAMES = "eval/score"
"""mean over the whole games of a test"""
LAST_THIRD = "reward per step, last third of the tests"
AREA = "area under the score of test games, per step"


def compared(records: Sequence[RunRecord], task: str, *ours: str) -> list[Row]:
    """Return every arm's reward per step in the last third, and each of ours against the others.

    Each of ours is compared in a family of its own, without the rest of ours.
    """
    runs = [run for run in records if run.task == task]
    score = {LAST_THIRD: last_third(METRIC)}
    return rows_by_arm(runs, score) + against_others(runs, ours, score)


def large_maze(records: Sequence[RunRecord], task: str) -> list[Row]:
    """Return how agents compare, and what plain VaST gains from extensions of decisions alone."""
    probed_runs = [run for run in records if run.task == task and "decisions" in run.probes]
    names = list(dict.fromkeys(name for run in probed_runs for name in run.probes["decisions"]))

    def goals(name: str) -> Score:
        return lambda run: float(run.probes["decisions"][name]["goals"])

    tests = {f"goals in a test of the trained agent, {name}": goals(name) for name in names}
    return compared(records, task, *OURS) + rows_by_arm(probed_runs, tests)


def hazards(records: Sequence[RunRecord]) -> list[Row]:
    """Return the same with hazards, and how the trained agents do in a longer test."""
    task = "large-maze-hazards"
    rewards, goals, steps = (
        probed("hazards", field) for field in ("reward_per_step", "goals", "steps")
    )
    longer: dict[str, Score] = {
        "reward per step, longer test of the trained agent": rewards,
        "goals per 1000 steps, same test": lambda run: 1000 * goals(run) / steps(run),
    }
    runs = [run for run in records if run.task == task]
    return large_maze(records, task) + rows_by_arm(runs, longer)


def by_bits(records: Iterable[RunRecord], statistics: Mapping[str, Score]) -> list[Row]:
    """Return the statistics of runs by their number of bits, the largest first."""
    return rows_by_arm(sorted(map(of_agent, records), key=lambda run: -n_bits(run)), statistics)


def bits_compared(records: Sequence[RunRecord], statistics: Mapping[str, Score]) -> list[Row]:
    """Return the statistics by number of bits, and the most bits against fewer."""
    most = name(max(records, key=n_bits))
    return by_bits(records, statistics) + pairs(map(of_agent, records), most, statistics)


def of_agent(run: RunRecord) -> RunRecord:
    """Return a run whose label also says which agent it is."""
    return replace(run, label=f"{agent_label(run)}, {run.label}")


def one_run(records: Iterable[RunRecord]) -> list[Row]:
    """Return what one run without reward did to the values of the states that were new."""

    def new_values(run: RunRecord) -> list[float | None]:
        along = run.probes["one-run"]["run"]
        seen = zip(along["states"], along["before"], along["after"], strict=True)
        new = {state: after for state, before, after in seen if before is None}
        return list(new.values())

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


def seen_before(run: RunRecord) -> float:
    """Return the share of frames of earlier episodes; nan if there was only one episode."""
    single = probed("frames", "episodes")(run) < 2
    return nan if single else probed("frames", "share")(run)


def steps_per_goal(records: Iterable[RunRecord]) -> list[Row]:
    """Return after how many steps a random policy is rewarded: episodes end at the goal only."""

    def score(run: RunRecord) -> float:
        steps, episodes = run.curve("train/episodes")
        return float(steps[-1] / episodes[-1]) if len(steps) and episodes[-1] else inf

    return rows_by_arm(records, {"steps per reward": score})


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
    begun = [run for run in records if len(run.curve(METRIC)[0])]
    for arm in by_arm(begun):
        worst = min(float(run.curve(METRIC)[1].min()) for run in arm)
        rise = float(np.mean([final(run) for run in arm])) - worst
        levels[arm[0].arm] = worst + NEAR * rise if rise > 0 else inf

    def late(run: RunRecord) -> float:
        return steps_to(*run.curve(METRIC), levels[run.arm], after=hidden(run))

    all_tests: dict[str, Score] = {"reward per step, all tests with rewards": rewarded}
    both = {**all_tests, "reward per step, last third of them": final}
    name = f"steps with rewards to {NEAR:.0%} of the way from the arm's worst test to them, median"
    told: dict[str, Score] = {name: late}
    return (
        rows_by_arm(begun, both)
        + rows_by_arm(begun, told, median)
        + pairs(begun, "latent", all_tests)
    )


def pong(records: Iterable[RunRecord]) -> list[Row]:
    """Return the score of test games, when it is 0, and the terms of the free energy.

    Scores are compared over the same steps. For terms all of each run counts: encoders are frozen
    long before the shortest run ends.
    """
    runs = [run for run in records if run.task == "pong"]
    terms: dict[str, Score] = {
        "reconstruction, last third (nats)": last_third("train/reconstruction"),
        "transition - entropy, last third (nats)": lambda run: (
            last_third("train/transition")(run) - last_third("train/entropy")(run)
        ),
    }
    told: dict[str, Score] = {
        AREA: lambda run: area_under_curve(*run.curve(GAMES)),
        "score of test games, last third": last_third(GAMES),
    }
    won: dict[str, Score] = {
        "steps to a score of 0 in two tests, median": lambda run: steps_to(
            *run.curve(GAMES), 0.0, in_a_row=2
        )
    }
    alike = by_length(runs)
    histories = [run for run in runs if run.arm in ("k3", "k0")]

    def compared_areas(length: int) -> list[Row]:
        there = [up_to(run, length) for run in histories if has_reached(run, length)]
        return pairs(there, "k3", {f"{AREA}, first {length:,} steps": told[AREA]})

    lengths = sorted({run.steps for run in histories if run.is_done})
    return (
        [row for same in alike for row in rows_by_arm(same, told)]
        + [row for same in alike for row in rows_by_arm(same, won, median)]
        + [row for length in lengths for row in compared_areas(length)]
        + rows_by_arm(runs, terms)
        + differences(histories, "k3", "k0", terms)
    )


def by_length(runs: Sequence[RunRecord]) -> list[list[RunRecord]]:
    """Return runs over the same steps together, for every length; labels say which if it matters.

    A longer run is in the groups of all shorter lengths, up to these.
    """
    lengths = sorted({run.steps for run in runs})
    if len(lengths) < 2:
        return [list(runs)] if runs else []
    return [
        [
            replace(up_to(run, length), label=f"{run.label}, first {length:,} steps")
            for run in runs
            if has_reached(run, length)
        ]
        for length in lengths
    ]


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
