"""The statistics of the paper's claims are those of the runs, and the page shows them."""

from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.analysis.records import REWARD, record
from vast.analysis.claim_rows import Row
from vast.analysis.claims import CLAIMS
from vast.analysis.results_page import claim_table, filled, published
from vast.analysis.statistics import Estimate
from vast.errors import UserError
from vast.experiments.figures.trials import BEST, TRIALS
from vast.experiments.results import RunRecord, load_study

PAGE = Path(__file__).parents[2] / "docs" / "results.md"
CLAIM = {claim.name: claim for claim in CLAIMS}


def rows(claim: str, **records: list[RunRecord]) -> dict[tuple[str, str], str]:
    """Return the results of a claim by arm and statistic; `_` in a grid's name stands for `-`."""
    by_grid = {grid.replace("_", "-"): runs for grid, runs in records.items()}
    found = CLAIM[claim].rows(by_grid)
    table = {(row.what, row.statistic): row.result for row in found}
    assert len(table) == len(found), "two rows say the same"
    return table


def test_large_maze_compares_the_last_third_of_each_vast_with_all_others() -> None:
    runs = [
        record([0.0, 0.0, level + 0.01 * seed], task="large-maze", arm=arm, agent=agent, seed=seed)
        for arm, agent, level in (
            ("vast", "vast", 0.3),
            ("plain", "vast", 0.1),
            ("nec", "nec", 0.2),
            ("lsh", "lsh", 0.0),
        )
        for seed in range(3)
    ]
    found = rows("large-maze", fig3=runs)
    score = "reward per step, last third of the tests"
    assert found["nec", score].startswith("0.21 [0.2, 0.22]")
    better = f"probability of improvement: {score}"
    assert found["vast > nec", better].startswith("1 [1, 1]")
    assert found["vast > nec", better].endswith("; p = 0.5 (n = 3: at least 0.5)")  # Holm
    assert found["plain > nec", better].startswith("0 [0, 0]")
    assert ("vast > plain", better) not in found
    tests = {"as trained": {"goals": 4}, "repeat penalty": {"goals": 12}}
    runs = [replace(run, probes={"decisions": tests} if run.arm == "plain" else {}) for run in runs]
    found = rows("large-maze", fig3=runs)
    goals = "goals in a test of the trained agent, repeat penalty"
    assert found["plain", goals].startswith("12 ")
    assert ("nec", goals) not in found


def test_hazards_shows_the_longer_test_of_agents_trained_with_hazards_alone() -> None:
    def run(task: str, goals: int) -> RunRecord:
        test = {"steps": 9000, "goals": goals, "reward_per_step": goals / 9000}
        return replace(record([0.0], task=task, arm="nec", agent="nec"), probes={"hazards": test})

    found = rows("hazards", fig3=[run("large-maze-hazards", 18), run("large-maze", 90)])
    assert found["nec", "goals per 1000 steps, same test"].startswith("2 (n = 1")
    assert found["nec", "reward per step, longer test of the trained agent"].startswith("0.002 (n")


def test_teleporter_counts_windows_and_regular_use_from_its_opening() -> None:
    def run(fork: str, seed: int, shares: list[float]) -> RunRecord:
        curve = [0.0] * 10 + shares
        return record(
            {REWARD: curve, "eval/with_teleporter": curve},
            task="h-maze",
            arm="plain",
            agent="vast",
            fork=fork,
            seed=seed,
            every=5000,
            interventions=("50000:map=HON",),
        )

    runs = [
        run("rewarded", 0, [0.2, 0.4, 0.6, 0.8, 1.0, 1.0]),
        run("rewarded", 1, [0.0, 0.6, 0.0, 0.5, 0.5, 1.0]),
        run("no-run", 0, [0.0] * 6),
        run("no-run", 1, [0.0] * 6),
    ]
    found = rows("teleporter", fig5=runs)
    share = "share of test episodes, steps {} after"
    assert found["plain, rewarded", share.format("0 to 10,000")].startswith("0.3 ")
    assert found["plain, rewarded", share.format("20,000 to 30,000")].startswith("0.875 ")
    assert found["plain, rewarded", "reward per step, 10,000 steps before"].startswith("0 ")
    after = "reward per step, steps 20,000 to 30,000 after"
    assert found["plain, rewarded", after].startswith("0.875 ")
    regular = "steps to a share of 0.5 in two tests, median"
    assert (
        found["plain, rewarded", regular]
        == "15,000 [15,000, 20,000] (n = 2: too narrow); 2 of 2 seeds"
    )
    assert found["plain, no-run", regular] == "never (n = 2: too narrow); 0 of 2 seeds"
    late = f"probability of improvement: {share.format('20,000 to 30,000')}"
    assert found["plain, rewarded > plain, no-run", late].startswith("1 [1, 1]")
    # Agents are compared after the same run only, and by what they gain, too.
    others = [replace(each, arm="nec", agent="nec", label="nec") for each in runs]
    lower = [value - 1 for value in [0.0] * 10 + [0.5] * 6]
    others = [
        replace(each, metrics={**each.metrics, REWARD: np.array(lower)})
        for each in others
        if each.fork == "rewarded"
    ]
    found = rows("teleporter-agents", fig5=[*runs, *others])
    gain = "reward per step gained between these"
    assert found["plain, rewarded", gain].startswith("0.875 ")
    assert found["nec, rewarded", gain].startswith("0.5 ")
    better = f"probability of improvement: {gain}"
    assert found["plain, rewarded > nec, rewarded", better].startswith("1 [1, 1]")
    assert not any("no-run" in what for what, _ in found)


def test_recovery_is_counted_from_the_reversal_to_most_of_the_reward_before() -> None:
    def run(arm: str, seed: int, after: list[float]) -> RunRecord:
        before = [0.0, 0.0, 0.0, 0.0, 0.9, 1.1]
        return record([*before, *after], arm=arm, seed=seed, interventions=("6000:reverse",))

    runs = [run("vast", 0, [-1.0, 0.5, 0.9]), run("vast", 1, [-1.0, 0.95, 1.0])]
    runs += [run("nec", 0, [-1.0, -1.0, 0.8]), run("nec", 1, [-1.0, 0.95, 0.0])]
    found = rows("reversal", fig6=runs)
    steps = "steps to 90% of it after the reversal, median"
    assert found["vast", "reward per step before"].startswith("1 ")
    assert found["nec", "reward per step, last third after the reversal"].startswith("0.4 ")
    assert found["vast", steps].startswith("2,000 [2,000, 3,000]")
    assert found["nec", steps].endswith("; 1 of 2 seeds")
    better = "probability of improvement: reward per step, last third after the reversal"
    assert found["vast > nec", better].startswith("1 [1, 1]")

    # Agents are compared with others that have the same replay or none, and sizes by agent.
    def sized(arm: str, frames: int, level: float) -> RunRecord:
        agent = arm.partition("-")[0]
        replay = {"replay": {"capacity": frames} if agent == "vast" else frames}
        values = [0.0, 1.0, level, level]
        return record(
            values, arm=arm, agent=agent, settings=replay, interventions=("2000:reverse",)
        )

    runs = [sized("vast-15k", 15, 0.5), sized("vast-75k", 75, 0.5)]
    runs += [sized("nec-15k", 15, 0.6), sized("nec-75k", 75, 0.4)]
    runs.append(record([0.0, 1.0, 0.3, 0.3], arm="lsh", interventions=("2000:reverse",)))
    found = rows("reversal", fig6=runs)
    told = {what: shown.split()[0] for (what, row), shown in found.items() if row == better}
    assert told == {
        "vast-15k > nec-15k": "0",
        "vast-15k > lsh": "1",
        "vast-75k > nec-75k": "1",
        "vast-75k > lsh": "1",
        "vast-15k > vast-75k": "0.5",  # ties count half
        "nec-15k > nec-75k": "1",
    }


def test_latent_learning_counts_only_steps_with_rewards() -> None:
    values = [-1.0, -1.0, 0.5, 0.9, 1.0]
    latent = [record(values, arm="latent", agent="vast", settings={"latent_steps": 2000})]
    others = [record([0.0, 0.8, 0.4], arm="vast")]
    found = rows("latent-learning", latent_plus_maze=[*latent, *others])
    shown, final = "reward per step, all tests with rewards", "reward per step, last third of them"
    steps = "steps with rewards to 90% of the way from the arm's worst test to them, median"
    assert found["plus-maze, latent", shown].startswith("0.8 ")
    assert found["plus-maze, vast", shown].startswith("0.4 ")
    better = f"probability of improvement: {shown}"
    assert found["plus-maze, latent > vast", better].startswith("1 ")
    assert found["plus-maze, latent", final].startswith("1 ")
    assert found["plus-maze, vast", final].startswith("0.4 ")
    assert found["plus-maze, latent", steps].startswith("2,000 ")
    assert found["plus-maze, vast", steps].startswith("2,000 ")
    begun = record({REWARD: []}, arm="vast", seed=1, steps=4000)  # without a test so far
    assert rows("latent-learning", latent_large_maze=[begun]) == {}
    costly = [record([-1.0, -0.9, -0.3, -0.2], arm="vast")]  # where every step costs
    found = rows("latent-learning", latent_large_maze=costly)
    assert found["large-maze, vast", steps].startswith("3,000 ")


def test_pong_compares_areas_and_says_when_games_are_won() -> None:
    def run(arm: str, seed: int, scores: list[float], transition: float) -> RunRecord:
        curves = {
            "eval/score": scores,
            "train/transition": [transition] * len(scores),
            "train/entropy": [10.0] * len(scores),
        }
        return record(curves, task="pong", arm=arm, agent="vast", seed=seed)

    soon, late = [-20.0, 0.0, 20.0, 20.0, 20.0], [-20.0, -20.0, 10.0, -20.0, 30.0]
    runs = [run("k3", 0, soon, 12.0), run("k3", 1, soon, 14.0)]
    runs += [run("k0", 0, late, 30.0), run("k0", 1, late, 30.0)]
    found = rows("pong", fig7=runs, pong_long=[run("k0", 0, late, 30.0)])
    assert found["k3", "area under the score of test games, per step"].startswith("10 ")
    assert found["k3", "score of test games, last third"].startswith("20 ")
    assert found["k3", "transition - entropy, last third (nats)"].startswith("3 ")
    won = "steps to a score of 0 in two tests, median"
    assert found["k3", won].startswith("2,000 ")
    assert found["k0", won].startswith("never ")  # a single test is not enough
    better = "probability of improvement: area under the score of test games, per step"
    better += ", first 5,000 steps"
    assert found["k3 > k0", better].startswith("1 [1, 1]")
    assert found["k0", "score of test games, steps 4,000 to 5,000"].startswith("30 ")
    lower = "transition - entropy, last third (nats), same seed"
    assert found["k3 - k0", lower].startswith("-17 [-18, -16]")
    assert found["k3 - k0", lower].endswith("; lower in 2 of 2 seeds")
    # A run that is longer than the others is not to be compared with them unawares.
    longer = run("k3-motion", 0, [*late, 30.0], 12.0)
    told = {what for what, _ in rows("pong", fig7=[*runs, longer])}
    assert told >= {"k3, first 5,000 steps", "k3-motion, first 6,000 steps"}
    assert "k3, first 6,000 steps" not in told
    # Of a longer run, only what the others have counts; of one that is not finished, nothing.
    short = [run("k0", seed, late, 30.0) for seed in range(2)]
    lost = [run("k3", seed, [*late, *[-20.0] * 5], 12.0) for seed in range(2)]
    found = rows("pong", fig7=[*lost, *short])
    assert found["k3 > k0", better].startswith("0.5 ")
    # Of a longer run the beginning counts with the others, and all of it for itself; for the terms
    # of the model all runs count.
    score = "score of test games, last third"
    found = rows("pong", fig7=[*runs[:2], run("k3", 2, [-20.0] * 6, 13.0)])
    assert found["k3, first 5,000 steps", score].startswith("6.667 [-20, 20] (n = 3")
    assert found["k3, first 6,000 steps", score].startswith("-20 (n = 1")
    assert found["k3", "transition - entropy, last third (nats)"].startswith("3 ")
    begun = [replace(run("k3", seed, late[:4], 12.0), steps=5000) for seed in range(2)]
    assert not any(" > " in what for what, _ in rows("pong", fig7=[*begun, *short]))


def test_trees_are_told_from_mazes_task_by_task() -> None:
    def run(task: str, seed: int, revisited: float) -> RunRecord:
        probe = {"states": 10 * seed + 10, "mean_predecessors": 2.0, "revisited": revisited}
        return record([0.0], task=task, seed=seed, probes={"tree": probe})

    runs = [run("plus-maze", 0, 0.6), run("plus-maze", 1, 0.8), run("pong", 0, 0.1)]
    found = rows("tree-likeness", tree_likeness=runs)
    revisited = "revisited state-action pairs (share)"
    assert found["plus-maze, vast", "states"].startswith("15 ")
    assert found["plus-maze, vast", revisited].startswith("0.7 ")
    assert found["pong, vast", revisited].startswith("0.1 ")
    assert ("pong, vast", "states with several predecessors (share)") not in found


def test_one_run_counts_new_states_and_their_values() -> None:
    along = {
        "states": ["a", "b", "a", "c", "d"],  # of which the first is met twice
        "before": [None, None, None, None, 0.5],
        "after": [0.2, 0.4, 0.2, None, 0.5],
    }
    probe = {"run": along, "same_networks": True}
    found = rows("one-run", fig1=[record([0.0], task="t-maze", probes={"one-run": probe})])
    assert found["vast", "new states on the run"].startswith("3 ")
    assert found["vast", "of these, with a value afterwards"].startswith("2 ")
    assert found["vast", "their mean value"].startswith("0.3 ")
    assert found["vast", "networks unchanged"] == "1 of 1 seeds"


def test_two_episodes_need_no_runs() -> None:
    found = rows("two-episodes")
    assert found["episodic control", "largest value in the right arm"] == "0"
    assert float(found["prioritized sweeping", "largest value in the right arm"]) > 0.3


def test_a_random_policy_is_rewarded_at_the_end_of_each_episode() -> None:
    runs = [
        record(
            {"train/episodes": [1, 2, 4]}, task="large-maze", arm="random", seed=0, every=10_000
        ),
        record(
            {"train/episodes": [0, 0, 0]}, task="large-maze", arm="random", seed=1, every=10_000
        ),
    ]
    assert rows("random-policy", random_policy=runs[:1])["random", "steps per reward"].startswith(
        "7,500"
    )
    assert rows("random-policy", random_policy=runs)["random", "steps per reward"].startswith(
        "never"
    )
    assert str(Estimate(inf, inf, inf, 2)).startswith("never")


def test_bits_are_in_order_and_have_both_thirds() -> None:
    runs = [
        record(
            np.arange(9.0) * d,
            task="large-maze",
            arm=f"d{d}",
            agent="vast",
            settings={"model": {"n_bits": d}},
        )
        for d in (16, 64)
    ]
    found = rows("bits", fig4=runs)
    d64, d16 = (f"plain VaST, d{d}" for d in (64, 16))
    assert [what for what, _ in found] == [d64, d64, d16, d16, *[f"{d64} > {d16}"] * 2]
    assert found[d16, "reward per step, first third of the steps"].startswith("16 ")
    assert found[d16, "reward per step, last third of the tests"].startswith("112 ")


def test_earlier_records_are_compared_over_the_same_steps() -> None:
    values = [9.0] * 130 + [0.5] * 20 + [9.0] * 20
    runs = [record(values, task="h-maze", arm="vast", seed=seed) for seed in range(2)]
    runs.append(record(values, task="h-maze", arm="vast", seed=0, fork="rewarded"))
    found = rows("earlier-records", fig5=runs)
    steps = "reward per step, 130,000 to 150,000"
    assert found["h-maze, `fig5`", steps] == "0.5 to 0.5 (n = 2)"
    tests = [
        np.mean([reward for step, reward in zip(*each, strict=True) if 130_000 < step <= 150_000])
        for each in ((run["step"], run["reward_per_step"]) for run in load_study("h-maze")["runs"])
    ]
    low, high = found["h-maze, study `h-maze`", steps].split(" (")[0].split(" to ")
    assert (float(low), float(high)) == pytest.approx((min(tests), max(tests)), rel=1e-3)
    assert len(found) == 2  # nothing is said of mazes without runs


def test_of_an_earlier_study_of_several_agents_only_the_same_agent_counts() -> None:
    runs = [record([0.5] * 30, task="plus-maze", arm="ddqn-75k", agent="ddqn", every=1000)]
    found = rows("earlier-records", fig6=runs)
    then = found["plus-maze, Prioritized DDQN, study `agents`", "reward per step, 20,000 to 30,000"]
    its = [run for run in load_study("agents")["runs"] if run["label"] == "Prioritized DDQN"]
    tests = [
        np.mean(
            [
                r
                for step, r in zip(run["step"], run["reward_per_step"], strict=True)
                if step > 20_000
            ]
        )
        for run in its
    ]
    low, high = then.split(" (")[0].split(" to ")
    assert (float(low), float(high)) == pytest.approx((min(tests), max(tests)), rel=1e-3)
    assert then.endswith(f"(n = {len(its)})")
    assert len(found) == 2


def test_every_claim_without_runs_names_the_grid_to_run() -> None:
    for claim in CLAIMS:
        table = claim_table(claim, {})
        assert table.startswith("|") == (not claim.grids)
        for grid in claim.grids:
            assert f"`vast grid {grid}`" in table


def test_the_page_is_filled_between_its_marks_only() -> None:
    page = "before\n<!-- claim two-episodes -->\nobsolete\n<!-- end -->\n**Verdict.** holds\n"
    after = filled(page, {})
    assert after.startswith("before\n<!-- claim two-episodes -->\n| | statistic | result |\n")
    assert after.endswith("<!-- end -->\n**Verdict.** holds\n")
    assert "obsolete" not in after
    assert filled(after, {}) == after
    with pytest.raises(UserError, match="unknown claim 'two-episode'"):
        filled(page.replace("two-episodes", "two-episode"), {})


def test_results_md_has_every_claim_with_the_numbers_of_the_published_runs() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for claim in CLAIMS:
        assert f"<!-- claim {claim.name} -->" in page
        heading = claim.name.replace("-", " ").capitalize()
        assert f"\n### {heading}\n" in page
    assert filled(page, published()) == page, (
        "python -m vast.analysis.results_page docs/results.md writes the tables anew"
    )


def test_rows_are_shown_with_the_arm_once() -> None:
    table: Any = [Row("vast", "a", "1"), Row("vast", "b", "2")]
    shown = claim_table(replace(CLAIMS[0], rows=lambda _: table), {})
    assert shown.splitlines()[2:] == ["| vast | a | 1 |", "|  | b | 2 |"]


def test_figures_use_the_best_trial_of_each_agent() -> None:
    labels = {arm.label: name for name, (arm, _) in TRIALS.items()}
    for maze, best in BEST.items():
        firsts: dict[str, str] = {}
        for row in CLAIM["trials"].rows(published()):
            task, _, agent = row.what.partition(", ")
            if task == maze:
                firsts.setdefault(labels[agent], row.statistic)
        assert firsts == best
