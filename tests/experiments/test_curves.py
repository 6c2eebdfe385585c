"""Learning curves: each run is done once; the figure is drawn from one file of results."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from benchmarks import curves, studies
from matplotlib.image import imread

from vast.experiments.config import default_run
from vast.training.metrics import read_metrics
from vast.training.plain import to_plain, with_changes


@pytest.mark.slow
def test_curves_are_those_of_the_runs_and_no_run_is_done_twice(tmp_path: Path) -> None:
    runs, image = tmp_path / "runs", tmp_path / "curves.png"
    both = {
        label: replace(default_run("t-maze-2d", agent, "debug"), steps=400)
        for label, agent in (("VaST", "vast"), ("by chance", "lsh"))
    }
    wanted = curves.planned(both, (0, 1))
    curves.run_all(runs, wanted, 2)
    report = json.loads(json.dumps(curves.gathered(runs, wanted)))
    assert [(run["label"], run["seed"]) for run in report["runs"]] == [
        ("VaST", 0),
        ("by chance", 0),
        ("VaST", 1),
        ("by chance", 1),
    ]
    assert report["configs"]["by chance"]["settings"]["n_bits"] == 16
    assert report["versions"]["torch"]
    for run, plan in zip(report["runs"], wanted, strict=True):
        metrics = read_metrics(plan.directory(runs) / "metrics.jsonl")
        rows = [row for row in metrics if "eval/goals" in row]
        assert run["step"] == [200, 400]
        assert run["mean_return"] == [row["eval/mean_return"] for row in rows]
        assert run["goals_per_1000_steps"] == [20 * row["eval/goals"] for row in rows]
        assert run["wall_seconds"] >= run["wall"][-1] >= run["wall"][0] > 0
    curves.draw(report, image, targets={"mean_return": 0.5})
    assert imread(image).shape[1] > 1000
    written = {path: path.stat().st_mtime_ns for path in runs.rglob("*")}
    curves.run_all(runs, wanted, 1)
    assert {path: path.stat().st_mtime_ns for path in runs.rglob("*")} == written


def test_runs_of_some_seeds_are_merged_with_recorded_ones_of_the_same_kind_only() -> None:
    def report(seeds: dict[int, float], steps: int = 400) -> dict[str, Any]:
        return {"steps": steps, "runs": [{"seed": s, "wall": w} for s, w in seeds.items()]}

    merged = curves.merged(report({1: 7.0, 3: 7.0}), report({0: 5.0, 1: 5.0, 2: 5.0}))
    assert merged == report({0: 5.0, 1: 7.0, 2: 5.0, 3: 7.0})
    with pytest.raises(SystemExit, match="steps must be those of the recorded runs"):
        curves.merged(report({3: 7.0}), report({0: 5.0}, steps=500))


def test_configs_of_an_earlier_version_are_compared_by_their_present_names() -> None:
    config = default_run("plus-maze", "vast", "cpu")
    new = to_plain(config)
    old = json.loads(json.dumps(new))
    extensions = old["settings"].pop("extensions")
    old["settings"]["restlessness"] = extensions.pop("repeat_penalty")
    old["settings"]["last_action"] = extensions.pop("last_action")
    old["settings"]["planning"] |= extensions
    other = json.loads(json.dumps(old))
    other["settings"]["restlessness"] = 0.5

    def report(configs: Any, seed: int) -> dict[str, Any]:
        return {"configs": {"VaST": configs}, "runs": [{"seed": seed}]}

    merged = curves.merged(report(new, 1), report(old, 0))
    assert merged == {"configs": {"VaST": new}, "runs": [{"seed": 0}, {"seed": 1}]}
    with pytest.raises(SystemExit, match="configs must be those of the recorded runs"):
        curves.merged(report(new, 1), report(other, 0))


def test_each_study_differs_from_the_preset_where_it_says() -> None:
    """A study whose curves were all alike would compare nothing."""
    for name, study in studies.STUDIES.items():
        settings = [(config.agent, repr(config.settings)) for config in study.curves.values()]
        assert len(set(settings)) == len(settings), name
    without = studies.STUDIES["remedies"].curves["not smoothed"]
    usual = default_run("plus-maze", "vast", "cpu").settings
    assert without.settings == with_changes(usual, {"extensions.smoothing": 0.0})
