"""The recorded comparison of the three gradient estimators: its figure, and its table.

    python -m vast.analysis.estimators --out docs/images/estimators.png

`vast grid study-estimators` runs it again.
"""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro
from matplotlib.figure import Figure

from vast.experiments.results import load_study

LAST = 3
"""test epochs at the end of a run, of which the table shows the mean"""
COLOURS = {"concrete": "#c8373a", "straight-through": "#2f6db5", "score-function": "#e09a3b"}
PANELS = {
    "eval/mean_return": "return per episode",
    "eval/goals": "goals per test epoch of 1000 steps",
    "table/revisited": "share of revisited state-action pairs",
}


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
    out: Annotated[Path, tyro.conf.arg(help="the picture to write")] = Path("estimators.png"),
) -> None:
    """Draw the recorded runs, and print the table of docs/model.md."""
    report = load_study("estimators")
    draw(report, out)
    print(table(report))


if __name__ == "__main__":
    tyro.cli(main)
