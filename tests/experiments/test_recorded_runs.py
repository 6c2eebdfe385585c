"""The recorded studies: with the configs that they would have now, and the results of the docs."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from vast.experiments.config import RunConfig
from vast.experiments.figures import EXPERIMENTS, experiment_named
from vast.experiments.results import load_study
from vast.experiments.run_directory import run_config
from vast.experiments.spec import Experiment
from vast.training.plain import with_changes

DECLARED = {
    name.removeprefix("study-"): experiment_named(name)
    for name in EXPERIMENTS
    if name.startswith("study-")
}
THEN: dict[str, dict[str, Any]] = {
    "vast": {"training.process": False},
    "lsh": {"backups_per_step": 1000},
    "mfec": {"capacity": 50_000, "index": "exact"},
    "nec": {"capacity": 50_000, "index": "exact", "replay": 100_000},
    "ddqn": {"discount": 0.95, "replay": 100_000, "beta_steps": 100_000},
}
"""what the presets were when the studies were recorded, before all agents had the same discount,
replay, memories and planning budget, and a process for training; the records stay as they are"""
LARGE_THEN = {"planning.backups_per_step": 10_000, "planning.backups_per_training": 40_000}
"""the same, of VaST in the large mazes"""


def as_then(config: RunConfig) -> RunConfig:
    """Return a config of today with the hyperparameters of the recorded studies."""
    large = config.agent == "vast" and config.task.startswith("large-maze")
    changes = {**THEN[config.agent], **(LARGE_THEN if large else {})}
    return replace(config, settings=with_changes(config.settings, changes))


def seeds_of(study: str) -> set[int]:
    experiment: Experiment = DECLARED[study]
    return {*experiment.seeds}


def at(study: str, step: int, what: str, label: str = "VaST") -> list[float]:
    """Return a result of the test epoch at a step, for each seed."""
    runs = [run for run in load_study(study)["runs"] if run["label"] == label]
    return [run[what][run["step"].index(step)] for run in runs]


@pytest.mark.parametrize("study", [s for s in DECLARED if "configs" in load_study(s)])
def test_a_recorded_study_has_the_configs_that_it_would_have_now_but_for_what_is_known(
    study: str,
) -> None:
    record = load_study(study)
    configs = {label: run_config(plain) for label, plain in record["configs"].items()}
    assert configs == {
        condition.label: as_then(condition.config) for condition in DECLARED[study].conditions()
    }
    assert {run["seed"] for run in record["runs"]} == seeds_of(study)


@pytest.mark.parametrize(
    ("study", "step", "what", "least"),
    [
        ("t-maze", 10_000, "mean_return", 0.7),
        ("plus-maze", 15_000, "mean_return", 0.95),
        ("plus-maze", 15_000, "goals_per_1000_steps", 30),
        ("plus-maze", 40_000, "mean_return", 0.9),
        ("large-maze", 600_000, "goals_per_1000_steps", 8),
    ],
)
def test_every_seed_reaches_the_target(study: str, step: int, what: str, least: float) -> None:
    reached = at(study, step, what)
    assert len(reached) == len(seeds_of(study))
    assert min(reached) >= least


def test_on_another_processor_most_seeds_reach_the_target_and_all_recover() -> None:
    again = load_study("plus-maze-again")
    assert again["configs"] == load_study("plus-maze")["configs"]
    found = {
        step: [run["mean_return"][run["step"].index(step)] for run in again["runs"]]
        for step in (15_000, 40_000)
    }
    assert sum(reached >= 0.95 for reached in found[15_000]) >= 4
    assert min(found[40_000]) >= 0.9


def test_every_seed_learns_the_h_maze_and_then_uses_the_teleporter() -> None:
    returns = at("h-maze", 150_000, "mean_return")
    # The target is 0.1, which only one seed reaches; docs/fast.md explains why.
    assert min(returns) > 0.0
    assert np.median(returns) >= 0.09
    rows = load_study("teleporter")["rows"]
    assert {row["seed"] for row in rows} == seeds_of("h-maze")
    assert all(row["through_the_teleporter"] > row["episodes"] / 2 for row in rows)


def test_without_outcome_shifts_not_every_seed_does() -> None:
    with_shifts = at("leaps", 170_000, "mean_return")
    assert with_shifts == at("h-maze", 170_000, "mean_return")
    without = at("leaps", 170_000, "mean_return", "without leaps")
    assert min(with_shifts) > 0.3 > min(without)


def test_agents_trained_with_hazards_earn_more_there() -> None:
    rows = load_study("hazards")["rows"]
    trained = [row["reward_per_step"] for row in rows if row["learned_in"] == "large-maze-hazards"]
    others = [row["reward_per_step"] for row in rows if row["learned_in"] == "large-maze"]
    assert len(trained) == len(seeds_of("large-maze-hazards"))
    assert len(others) >= 3
    assert min(trained) > max(others)


def test_each_part_matters_except_reassignment_soon_after_the_burst() -> None:
    report = load_study("controls")
    goals = {
        label: np.mean(
            [run["goals_per_1000_steps"][-1] for run in report["runs"] if run["label"] == label]
        )
        for label in report["configs"]
    }
    ablated = set(goals) - {"VaST", "no reassignment"}
    assert all(goals[label] < goals["VaST"] / 2 for label in ablated)
