"""`vast compare`: the numbers are those of the runs, and every one says how many seeds it has."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.analysis.records import REWARD, record
from vast.analysis.comparison import ALL_TASKS, compare
from vast.cli import main
from vast.errors import UserError

UP = [0.0, 0.0, 0.1, 0.2, 0.3, 0.3]


def arms(n: int = 3, task: str = "plus-maze") -> Any:
    """Two arms, the second one below the first one by 0.1 in every seed."""
    return [
        record(np.array(UP) + 0.01 * seed - below, arm=arm, seed=seed, task=task)
        for arm, below in (("vast", 0.0), ("nec", 0.1))
        for seed in range(n)
    ]


def test_scores_are_the_mean_of_the_last_third_of_the_tests() -> None:
    found = compare(arms())
    (task,) = found.tasks
    vast, nec = task.arms
    assert vast.seeds == nec.seeds == (0, 1, 2)
    assert vast.scores == pytest.approx([0.3, 0.31, 0.32])
    assert vast.mean.value == vast.interquartile_mean.value == pytest.approx(0.31)
    assert (vast.tolerance.low, vast.tolerance.high) == pytest.approx((0.3, 0.32))
    assert [share.value for share in vast.profile.shares] == pytest.approx(
        [1, 1, 1, 2 / 3, 1 / 3, 0]
    )
    by_area = compare(arms(), score="area").tasks[0].arms[0].scores
    assert by_area == pytest.approx([0.15, 0.16, 0.17])
    assert vast.area is not None
    assert vast.area.value == pytest.approx(0.16)


def test_the_threshold_lies_between_the_first_tests_and_the_best_arm() -> None:
    (task,) = compare(arms()).tasks
    first, best = np.mean([0.01, -0.09]), 0.31
    assert task.threshold == pytest.approx(first + 0.9 * (best - first))
    vast, nec = task.arms
    assert vast.steps_to is not None
    assert (vast.steps_to.value, vast.reached) == (5000, 3)
    assert (str(nec.steps_to), nec.reached) == ("never (n = 3: too narrow)", 0)
    (task,) = compare(arms(), threshold=0.15).tasks
    assert [arm.reached for arm in task.arms] == [3, 3]


def test_pairs_are_compared_by_seed_and_adjusted_together() -> None:
    third = [record(np.array(UP) + 0.05, arm="lsh", seed=seed) for seed in range(3)]
    (task,) = compare([*arms(), *third]).tasks
    assert [(pair.ours, pair.theirs) for pair in task.pairs] == [
        ("vast", "nec"),
        ("vast", "lsh"),
        ("nec", "lsh"),
    ]
    first = task.pairs[0]
    assert first.improvement.value == 1
    assert first.test is not None
    assert first.test.difference == pytest.approx(0.1)
    assert first.test.p == 0.25
    assert first.adjusted == 0.75
    (task,) = compare([*arms(), *third], against="lsh").tasks
    assert [(pair.ours, pair.theirs) for pair in task.pairs] == [("lsh", "vast"), ("lsh", "nec")]
    assert task.pairs[0].adjusted == 0.5


def test_only_seeds_of_both_arms_are_paired() -> None:
    (task,) = compare([*arms(3)[:3], *arms(4)[5:]]).tasks
    assert [arm.seeds for arm in task.arms] == [(0, 1, 2), (1, 2, 3)]
    assert task.pairs[0].test is not None
    assert task.pairs[0].test.n == 2
    alone = compare([record(UP, arm="vast", seed=0), record(UP, arm="nec", seed=1)]).tasks[0]
    assert alone.pairs[0].test is None
    assert "fewer than two seeds in common: no test" in alone.caveats


def test_several_tasks_are_compared_together_on_one_scale() -> None:
    large = [
        record(
            100 * np.array(UP) + (5 if arm == "vast" else 0) + seed,
            arm=arm,
            seed=seed,
            task="t-maze",
        )
        for arm in ("vast", "nec")
        for seed in range(3)
    ]
    found = compare([*arms(), *large])
    assert [task.task for task in found.tasks] == ["plus-maze", "t-maze", ALL_TASKS]
    vast, nec = found.tasks[-1].arms
    plus = (np.array([0.3, 0.31, 0.32]) - 0.2) / 0.12
    tmaze = (np.array([35, 36, 37]) - 30) / 7
    assert vast.scores == pytest.approx((plus + tmaze) / 2)
    assert nec.scores[0] == 0


def test_runs_are_compared_up_to_the_same_step_and_unfinished_ones_are_left_out() -> None:
    short = record([0.0, 0.1, 0.2, 0.6], arm="lsh")
    killed = record(UP[:2], arm="vast", seed=3, steps=6000)
    found = compare([*arms(), short, killed])
    assert found.tasks[0].until == 4000
    assert found.tasks[0].arms[0].scores[0] == pytest.approx(0.15)
    assert found.left_out == ("vast, seed 3, on plus-maze: at step 2,000 of 4,000",)
    assert compare([*arms(), short, killed], until=2000).left_out == ()


def test_forks_are_arms_of_their_own_and_replace_their_training() -> None:
    records = [
        record(UP[:3], arm="vast", fork=None),
        record(UP, arm="vast", fork="shown"),
        record(UP, arm="vast", fork="not-shown"),
    ]
    (task,) = compare(records).tasks
    assert [arm.arm for arm in task.arms] == ["vast/shown", "vast/not-shown"]


def test_runs_of_one_agent_with_other_hyperparameters_are_other_arms() -> None:
    records = [
        record(UP, seed=seed, settings={"model": {"n_bits": bits, "depth": 2}})
        for bits in (16, 32)
        for seed in (0, 1)
    ]
    (task,) = compare(records).tasks
    assert [arm.arm for arm in task.arms] == ["vast model.n_bits=16", "vast model.n_bits=32"]


def test_json_holds_every_caveat() -> None:
    plain = compare(arms()).plain()
    assert plain == json.loads(json.dumps(plain, allow_nan=False))
    arm = plain["tasks"]["plus-maze"]["arms"]["nec"]
    for name in ("mean", "interquartile_mean", "area_under_curve", "steps_to_threshold"):
        assert arm[name]["seeds"] == 3
        assert "too narrow" in arm[name]["caveat"]
    assert arm["steps_to_threshold"]["value"] is None
    assert plain["tasks"]["plus-maze"]["pairs"][0]["paired_permutation_test"]["p_holm"] == 0.25


@pytest.mark.parametrize(
    ("records", "options", "message"),
    [
        (arms(), {"metric": "eval/reward_per_stp"}, "did you mean 'eval/reward_per_step'?"),
        (arms(), {"score": "last"}, "unknown score 'last': must be one of area, last-third"),
        (arms(), {"against": "necc"}, "unknown arm 'necc': must be one of nec, vast; did you mean"),
        (arms(), {"until": 0}, "until must be at least 1, got 0"),
        (arms()[:1] * 2, {}, "seed 0 of 'vast' on plus-maze is given twice"),
        (
            [record(UP, steps=9000)],
            {},
            "no run can be compared: vast, seed 0, on plus-maze: at step 6,000 of 9,000",
        ),
    ],
)
def test_a_mistake_gets_one_line(records: Any, options: Any, message: str) -> None:
    with pytest.raises(UserError) as error:
        compare(records, **options)
    assert message in str(error.value)


def test_the_command_compares_run_directories(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directories = []
    for agent in ("lsh", "mfec"):
        for seed in (0, 1):
            directories.append(str(tmp_path / f"{agent}-{seed}"))
            options = ["--agent", agent, "--preset", "debug", "--seed", str(seed)]
            main(["train", "t-maze-2d", *options, "--out", directories[-1]])
    capsys.readouterr()
    out = tmp_path / "new" / "compared.json"
    main(["compare", *directories, "--json", str(out)])
    printed = capsys.readouterr().out
    assert "lsh > mfec" in printed
    assert printed.count("(n = 2: too narrow)") == 2 * 4 + 1
    assert "2 pairs of seeds: p cannot be below 0.5" in printed
    assert printed.endswith(f"wrote {out}\n")
    plain = json.loads(out.read_text())
    metrics = Path(directories[0], "metrics.jsonl").read_text().splitlines()
    tests = [row[REWARD] for row in map(json.loads, metrics) if REWARD in row]
    assert plain["tasks"]["t-maze-2d"]["arms"]["lsh"]["scores"][0] == tests[-1]

    with pytest.raises(SystemExit):
        main(["compare", str(tmp_path / "missing")])
    error = capsys.readouterr().err
    assert error.startswith("vast: ")
    assert "is not a run directory" in error
    assert error.count("\n") == 1
