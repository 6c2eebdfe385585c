"""Learning curves of the studies that were recorded before there were grids.

python -m vast.analysis.studies plus-maze --out docs/images/study-plus-maze.png
"""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from vast.analysis.drawing import save
from vast.experiments.results import load_study

COLOURS = ("#c8373a", "#2f6db5", "#e09a3b", "#7a9e3f", "#7b5aa6", "#4aa3a2", "#7d7d7d")
PANELS = {
    "mean_return": "return per episode that ended",
    "goals_per_1000_steps": "goals per 1000 steps",
    "reward_per_step": "reward per step",
}
SHOWN: dict[str, tuple[str, ...]] = {
    "large-maze-hazards": ("goals_per_1000_steps", "reward_per_step")
}
"""the panels of a study, where they are not the first two"""
TARGETS: dict[str, dict[str, float]] = {
    "t-maze": {"mean_return": 0.7},
    "plus-maze": {"mean_return": 0.95, "goals_per_1000_steps": 30},
    "plus-maze-start": {"mean_return": 0.95, "goals_per_1000_steps": 30},
    "h-maze": {"mean_return": 0.1},
    "large-maze": {"goals_per_1000_steps": 8},
}
"""what every seed should reach, by panel"""
LOWEST_RETURN = -2.0
"""shown in a figure: first episodes may last for thousands of steps"""


def draw(
    report: dict[str, Any],
    path: Path,
    panels: tuple[str, ...] = ("mean_return", "goals_per_1000_steps"),
    targets: dict[str, float] | None = None,
) -> Path:
    """Draw the mean and the range over seeds of each curve, and targets as dashed lines."""
    figure = Figure(figsize=(4.8 * len(panels), 3.6), layout="constrained")
    axes = figure.subplots(1, len(panels), sharex=True, squeeze=False)[0]
    for ax, name in zip(axes, panels, strict=True):
        for label, colour in zip(report["configs"], COLOURS, strict=False):
            steps, values = _values(report, label, name)
            ax.plot(steps, np.nanmean(values, 0), color=colour, label=label)
            low, high = np.nanmin(values, 0), np.nanmax(values, 0)
            ax.fill_between(steps, low, high, color=colour, alpha=0.15, linewidth=0)
        for step in _interventions(report):
            ax.axvline(step, color="#7d7d7d", linewidth=0.8, linestyle=":")
        if targets and name in targets:
            ax.axhline(targets[name], color="#3c3c3c", linewidth=0.8, linestyle="--")
        ax.set(xlabel="environment steps", ylabel=PANELS[name])
        ax.xaxis.set_major_locator(MaxNLocator(7, steps=[1, 2, 5, 10]))
        low, high = ax.dataLim.intervaly
        if name == "mean_return" and low < LOWEST_RETURN:
            ax.set_ylim(LOWEST_RETURN, high + 0.05 * (high - LOWEST_RETURN))
        ax.spines[["top", "right"]].set_visible(False)
    if len(report["configs"]) > 1:
        axes[0].legend(frameon=False, fontsize=8)
    seeds = len({run["seed"] for run in report["runs"]})
    over = f"mean and range of {seeds} seeds" if seeds > 1 else "one seed"
    figure.suptitle(f"{report['task']}: test epochs, {over}", fontsize=10)
    return save(figure, path)


def _values(report: dict[str, Any], label: str, name: str) -> tuple[Any, Any]:
    """Return steps, and values by seed, without test epochs in which no episode ended."""
    runs = [run for run in report["runs"] if run["label"] == label]
    steps = np.array(runs[0]["step"])
    values = np.array([run[name] for run in runs], float)
    known = ~np.isnan(values).all(0)
    return steps[known], values[:, known]


def _interventions(report: dict[str, Any]) -> list[int]:
    texts = {text for config in report["configs"].values() for text in config["interventions"]}
    return sorted({int(text.partition(":")[0]) for text in texts})


def main(
    name: Annotated[tyro.conf.Positional[str], tyro.conf.arg(help="a recorded study")],
    out: Annotated[Path, tyro.conf.arg(help="the picture to write")],
) -> None:
    """Draw a recorded study."""
    panels = SHOWN.get(name, ("mean_return", "goals_per_1000_steps"))
    print(draw(load_study(name), out, panels, TARGETS.get(name)))


if __name__ == "__main__":
    tyro.cli(main)
