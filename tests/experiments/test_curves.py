"""Learning curves: runs that are done once, gathered in one file, drawn from that file alone."""

import json
from pathlib import Path

import pytest
from benchmarks import curves
from matplotlib.image import imread

from vast.training.metrics import read_metrics


@pytest.mark.slow
def test_curves_are_those_of_the_runs_and_no_run_is_done_twice(tmp_path: Path) -> None:
    out, image = tmp_path / "results" / "curves.json", tmp_path / "curves.png"

    def call() -> None:
        curves.main(
            task="t-maze-2d",
            preset="debug",
            agents=("vast", "lsh"),
            seeds=(0, 1),
            steps=400,
            runs=tmp_path / "runs",
            out=out,
            image=image,
        )

    call()
    report = json.loads(out.read_text())
    assert [(run["agent"], run["seed"]) for run in report["runs"]] == [
        ("vast", 0),
        ("lsh", 0),
        ("vast", 1),
        ("lsh", 1),
    ]
    assert report["configs"]["lsh"]["settings"]["n_bits"] == 16
    assert report["versions"]["torch"]
    for run in report["runs"]:
        folder = tmp_path / "runs" / f"t-maze-2d-{run['agent']}-debug-{run['seed']}"
        rows = [row for row in read_metrics(folder / "metrics.jsonl") if "eval/goals" in row]
        assert run["step"] == [200, 400]
        assert run["mean_return"] == [row["eval/mean_return"] for row in rows]
        assert run["goals_per_1000_steps"] == [20 * row["eval/goals"] for row in rows]
        assert run["wall_seconds"] > 0
    assert imread(image).shape[1] > 1000
    written = {path: path.stat().st_mtime_ns for path in (tmp_path / "runs").rglob("*")}
    call()
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "runs").rglob("*")} == written
