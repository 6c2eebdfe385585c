"""The three gradient estimators on the plus-maze: test epochs and terms of the free energy.

    python -m benchmarks.estimators --rerun   # run what is missing, one run after the other
    python -m benchmarks.estimators           # only draw the recorded results

The runs are runs of the command `vast train`, each in a process of its own. Their test epochs go to
results/estimators.json, from which alone docs/images/estimators.png is drawn.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro
from matplotlib.figure import Figure

from benchmarks.report import write_json
from vast.experiments.run_directory import processor

TASK, STEPS, SEEDS = "plus-maze", 15_000, (1, 2, 3)
RATES = {
    "3e-3": ["--model.learning-rate", "3e-3", "--model.final-learning-rate", "6e-4"],
    "1e-3": [],
    "3e-4": ["--model.learning-rate", "3e-4", "--model.final-learning-rate", "6e-5"],
}
"""learning rates tried for the score function on seed 0, which is not used otherwise; 1e-3 is the
preset's. The lowest free energy at the end decides"""
OPTIONS = {"concrete": [], "straight-through": [], "score-function": RATES["3e-4"]}
"""what each estimator's runs set beside the preset"""
TRAIN = "from vast.cli import main; main()"
LAST = 3
"""test epochs at the end of a run, of which the table shows the mean"""
COLOURS = {"concrete": "#c8373a", "straight-through": "#2f6db5", "score-function": "#e09a3b"}
PANELS = {
    "eval/mean_return": "return per episode",
    "eval/goals": "goals per test epoch of 1000 steps",
    "table/revisited": "share of revisited state-action pairs",
}
ROW = (
    *("step", "wall_seconds", "eval/mean_return", "eval/episodes", "eval/goals"),
    *("eval/reward_per_step", "train/free_energy", "train/reconstruction", "train/transition"),
    *("train/entropy", "table/states", "table/revisited", "table/reassigned"),
)
"""what is kept of a test epoch's row of metrics"""


def command(estimator: str, seed: int, out: Path, options: list[str]) -> list[str]:
    """Return the arguments of `vast` for one run."""
    return [
        *("train", TASK, "--preset", "cpu", "--model.estimator", estimator),
        *("--steps", str(STEPS), "--seed", str(seed), "--threads", "1"),
        *("--loop.eval-every", "2500", "--loop.eval-steps", "1000", "--out", str(out)),
        *options,
    ]


def metrics(folder: Path) -> list[dict[str, Any]]:
    path = folder / "metrics.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    return [json.loads(line) for line in lines]


def run_missing(runs: Path) -> None:
    """Run what has not reached its end, one run after the other."""
    wanted = [(f"score-function-{rate}-0", "score-function", 0, RATES[rate]) for rate in RATES]
    wanted += [(f"{name}-{seed}", name, seed, OPTIONS[name]) for seed in SEEDS for name in OPTIONS]
    for folder, estimator, seed, options in wanted:
        rows = metrics(runs / folder)
        if not rows or rows[-1]["step"] < STEPS:
            arguments = command(estimator, seed, runs / folder, options)
            subprocess.run([sys.executable, "-c", TRAIN, *arguments], check=True)


def gathered(runs: Path) -> dict[str, Any]:
    """Return the test epochs of all runs, and what it takes to repeat them."""
    saved = {
        (name, seed): json.loads((runs / f"{name}-{seed}" / "config.json").read_text())
        for name in OPTIONS
        for seed in SEEDS
    }
    first = saved["concrete", SEEDS[0]]
    return {
        "task": TASK,
        "steps": STEPS,
        "seeds": SEEDS,
        "processor": processor(),
        "versions": first["versions"],
        "config": first["config"],
        "commands": {
            name: " ".join(["vast", *command(name, SEEDS[0], Path("RUN"), options)])
            for name, options in OPTIONS.items()
        },
        "learning_rates_on_seed_0": {
            rate: test_epochs(runs / f"score-function-{rate}-0") for rate in RATES
        },
        "runs": [
            {"estimator": name, "seed": seed, **test_epochs(runs / f"{name}-{seed}")}
            for name, seed in saved
        ],
    }


def test_epochs(folder: Path) -> dict[str, Any]:
    rows = metrics(folder)
    tests = [row for row in rows if "eval/episodes" in row]
    return {
        "wall_seconds": round(rows[-1]["wall_seconds"], 1),
        "tests": [{name: rounded(row[name]) for name in ROW if name in row} for row in tests],
    }


def rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.6g}")


def values(report: dict[str, Any], estimator: str, name: str) -> tuple[Any, Any]:
    """Return the steps of the test epochs, and the values of each seed, NaN if no episode ended."""
    runs = [run["tests"] for run in report["runs"] if run["estimator"] == estimator]
    table = [[row.get(name) for row in tests] for tests in runs]
    return np.array([row["step"] for row in runs[0]]), np.array(table, float)


def draw(report: dict[str, Any], path: Path) -> None:
    """Draw each seed as a thin line and their mean as a thick one."""
    figure = Figure(figsize=(4.2 * len(PANELS), 3.5), layout="constrained")
    for ax, (name, label) in zip(figure.subplots(1, len(PANELS)), PANELS.items(), strict=True):
        for estimator, colour in COLOURS.items():
            steps, table = values(report, estimator, name)
            ax.plot(steps, table.T, color=colour, linewidth=0.7, alpha=0.5)
            ax.plot(steps, np.nanmean(table, 0), color=colour, linewidth=2, label=estimator)
        ax.set(xlabel="environment steps", ylabel=label)
        ax.spines[["top", "right"]].set_visible(False)
    figure.axes[0].legend(frameon=False, fontsize=8)
    n = len(report["seeds"])
    figure.suptitle(f"{report['task']}, preset cpu: mean of {n} seeds and each seed", fontsize=10)
    figure.savefig(path, dpi=110)


def table(report: dict[str, Any]) -> str:
    """Return the table of docs/model.md: of the last test epochs, means and ranges over seeds."""
    columns = {
        "eval/mean_return": "{:.2f}",
        "eval/goals": "{:.0f}",
        "table/revisited": "{:.2f}",
        "train/reconstruction": "{:.0f}",
        "train/transition": "{:.1f}",
        "train/entropy": "{:.1f}",
    }
    lines = []
    for estimator in report["commands"]:
        cells = []
        for name, form in columns.items():
            last = np.nanmean(values(report, estimator, name)[1][:, -LAST:], 1)
            low, mean, high = (form.format(x) for x in (last.min(), last.mean(), last.max()))
            cells.append(f"{mean} ({low} to {high})")
        lines.append(f"| `{estimator}` | " + " | ".join(cells) + " |")
    return "\n".join(["| estimator | " + " | ".join(columns) + " |", *lines])


def main(
    rerun: Annotated[bool, tyro.conf.arg(help="run what is missing and record it")] = False,
    runs: Annotated[Path, tyro.conf.arg(help="where the runs are")] = Path("runs/estimators"),
    results: Path = Path("results/estimators.json"),
    picture: Path = Path("docs/images/estimators.png"),
) -> None:
    if rerun:
        run_missing(runs)
        write_json(gathered(runs), results)
    report = json.loads(results.read_text())
    draw(report, picture)
    print(table(report))


if __name__ == "__main__":
    tyro.cli(main)
