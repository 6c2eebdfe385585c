"""The metrics of runs over environment steps."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from vast.analysis.drawing import INKS, SMALL, WALL, plain_axes

LARGEST = 1e100
"""that is drawn: axes are scaled by products of larger numbers, which overflow"""
Rows = Sequence[Mapping[str, Any]]
"""of a metrics.jsonl"""

INSIDE = {
    "train/reconstruction": "reconstruction (nats per sample)",
    "train/transition": "transition (nats per sample)",
    "train/entropy": "entropy (nats per sample)",
    "table/states": "states in the table",
    "table/revisited": "state-action pairs revisited (share)",
    "table/reassigned": "states reassigned (share)",
}
"""what is drawn of model and table, if it was logged"""


def draw_returns(runs: Mapping[str, Rows], best: float | None = None) -> Figure:
    """Return the learning curves of runs by their names."""
    figure = Figure(figsize=(7.2, 3.6), layout="constrained")
    ax = figure.subplots()
    plain_axes(ax, "", "environment steps", "mean return per episode")
    several = len(runs) > 1
    for number, (name, rows) in enumerate(runs.items()):
        ink = INKS[number % len(INKS)]
        lived = series(rows, "train/mean_return")
        tested = series(rows, "eval/mean_return")
        if not several:
            ax.plot(*lived, color=ink, alpha=0.4, linewidth=1.4, label="while learning")
        ax.plot(*tested, "o-", color=ink, markersize=5, label=name if several else "test epochs")
    if best is not None:
        ax.axhline(best, color=WALL, linestyle=(0, (4, 3)), linewidth=1)
        ax.annotate(
            f"the shortest path: {best:.2f}",
            (0.01, best),
            xycoords=("axes fraction", "data"),
            xytext=(0, 3),
            textcoords="offset points",
            fontsize=SMALL,
            color=WALL,
        )
        ax.set_ylim(top=best + 0.08 * (best - ax.get_ylim()[0]))
    _steps_below(ax)
    ax.legend(fontsize=SMALL, frameon=False, loc="lower right")
    return figure


def draw_inside(runs: Mapping[str, Rows]) -> Figure | None:
    """Return the metrics of model and table; None if nothing was logged."""
    logged = {
        key: title
        for key, title in INSIDE.items()
        if any(len(series(rows, key)[0]) > 1 for rows in runs.values())
    }
    if not logged:
        return None
    lines = -(-len(logged) // 3)
    figure = Figure(figsize=(12.6, 2.6 * lines), layout="constrained")
    axes = figure.subplots(lines, 3, squeeze=False).ravel()
    for ax in axes[len(logged) :]:
        ax.set_axis_off()
    for ax, (key, title) in zip(axes, logged.items(), strict=False):
        plain_axes(ax, title)
        for number, rows in enumerate(runs.values()):
            ax.plot(*series(rows, key), color=INKS[number % len(INKS)], linewidth=1.4)
        _steps_below(ax)
    return figure


def series(rows: Rows, key: str) -> tuple[list[int], list[float]]:
    """Return the steps at which a metric was logged, and its values, if they can be drawn."""
    known = ((row["step"], row.get(key)) for row in rows if abs(row["step"]) <= LARGEST)
    found = [(step, value) for step, value in known if value is not None and abs(value) <= LARGEST]
    return [step for step, _ in found], [value for _, value in found]


def _steps_below(ax: Axes) -> None:
    ax.xaxis.set_major_locator(MaxNLocator(6))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda step, _: _short(step)))


def _short(step: float) -> str:
    for size, letter in ((1_000_000, "M"), (1000, "k")):
        if abs(step) >= size:
            return f"{np.round(step / size, 2):g}{letter}"
    return f"{step:g}"
