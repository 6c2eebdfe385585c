"""Runs grouped by arm: what belongs together, what arms are called, and their means."""

import json
import math
import statistics
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vast.analysis.arms import LoggedRun, arm_names, group, read_runs
from vast.analysis.drawing import AGENT_COLOURS
from vast.errors import UserError
from vast.experiments.config import RunConfig, default_run
from vast.experiments.run_directory import write_config
from vast.training.plain import with_changes

VAST = default_run("t-maze-2d", "vast", "debug")


def with_settings(config: RunConfig, **changes: Any) -> RunConfig:
    named = {name.replace("__", "."): value for name, value in changes.items()}
    return replace(config, settings=with_changes(config.settings, named))


def logged(config: RunConfig, *returns: float | None, every: int = 10) -> LoggedRun:
    rows = [{"step": every * (i + 1), "eval/mean_return": value} for i, value in enumerate(returns)]
    return LoggedRun(Path(f"run-{config.seed}"), config, rows, f"run-{config.seed}")


def test_runs_that_differ_in_seed_and_length_only_are_one_arm() -> None:
    short = with_settings(VAST, model__n_bits=4)
    runs = [
        logged(config)
        for config in (
            VAST,
            short,
            replace(VAST, seed=7, steps=1000, threads=2),
            replace(VAST, seed=2),
            replace(short, seed=1),
        )
    ]
    arms = group(runs)
    assert [[run.config.seed for run in arm.runs] for arm in arms] == [[0, 2, 7], [0, 1]]
    assert arms[0].name.startswith("VaST, model.n_bits ")
    assert arms[1].name == "VaST, model.n_bits 4"
    with pytest.raises(UserError, match="one run or more"):
        group([])


def test_arms_are_named_by_what_differs() -> None:
    plain = with_settings(VAST, extensions=())
    nec = default_run("t-maze-2d", "nec", "debug")
    reversed_ = replace(nec, interventions=("50:reverse",))
    names = arm_names([VAST, plain, nec, reversed_])
    assert names == [
        "VaST",
        "plain VaST",
        "NEC, interventions none",
        "NEC, interventions 50:reverse",
    ]
    assert arm_names([VAST]) == ["VaST"]
    assert arm_names([VAST, default_run("t-maze-2d", "vast", "cpu")]) == [
        "VaST, debug",
        "VaST, cpu",
    ]
    other = default_run("t-maze", "vast", "debug")
    assert arm_names([VAST, other]) == ["t-maze-2d, VaST", "t-maze, VaST"]
    many = with_settings(VAST, model__n_bits=4, training__every=9, encode_batch=3, latent_steps=5)
    assert arm_names([VAST, many])[1].count(",") == 4
    assert arm_names([VAST, many])[1].endswith("1 more")


def test_each_agent_has_its_colour_and_no_two_arms_look_alike() -> None:
    configs = [with_settings(VAST, model__n_bits=bits) for bits in range(2, 12)]
    configs.append(default_run("t-maze-2d", "nec", "debug"))
    arms = group([logged(config) for config in configs])
    assert arms[0].colour == AGENT_COLOURS["vast"]
    assert arms[-1].colour == AGENT_COLOURS["nec"]
    assert len({(arm.colour, arm.dashes) for arm in arms}) == len(arms)


def test_a_curve_is_the_mean_of_the_runs_that_got_there() -> None:
    values: list[list[float | None]] = [
        [1.0, 2.0, None, 4.0],
        [3.0, None, 5.0, 8.0],
        [5.0, 9.0, 1.0],
    ]
    (arm,) = group([logged(replace(VAST, seed=i), *v) for i, v in enumerate(values)])
    curve = arm.curve("eval/mean_return")
    # At 20 and 30 one run was tested without a result: there is no fair mean. The third ended.
    assert curve.steps.tolist() == [10, 40]
    assert curve.mean.tolist() == [3, 6]
    assert curve.runs.tolist() == [3, 2]
    expected = [statistics.stdev([1, 3, 5]), statistics.stdev([4, 8])]
    np.testing.assert_allclose(curve.spread, expected)
    alone = group([logged(VAST, 1.0, None, 3.0)])[0].curve("eval/mean_return")
    assert alone.steps.tolist() == [10, 30]
    assert alone.spread.tolist() == [0, 0]
    assert len(arm.curve("train/loss").steps) == 0


def test_what_cannot_be_drawn_is_left_out() -> None:
    run = logged(VAST, 1.0, 1e300, None, -2.0)
    steps, values = run.series("eval/mean_return")
    assert steps.tolist() == [10, 40]
    assert values.tolist() == [1, -2]


def test_a_directory_of_runs_stands_for_all_of_them(tmp_path: Path) -> None:
    for seed in range(3):
        write_config(tmp_path / "grid" / "runs" / f"a-{seed}", replace(VAST, seed=seed))
    (tmp_path / "grid" / "runs" / "a-0" / "metrics.jsonl").write_text(
        json.dumps({"step": 5, "eval/mean_return": 1.5}) + "\n", encoding="utf-8"
    )
    runs = read_runs([tmp_path / "grid", tmp_path / "grid" / "runs" / "a-1"])
    assert [run.name for run in runs] == ["a-0", "a-1", "a-2"]
    assert [run.steps for run in runs] == [5, 0, 0]
    assert math.isclose(runs[0].rows[0]["eval/mean_return"], 1.5)
    assert runs[0].recorded("versions")["torch"]
    with pytest.raises(UserError, match="not a run directory"):
        read_runs([tmp_path])
