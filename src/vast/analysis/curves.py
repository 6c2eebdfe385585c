"""The metrics of runs over environment steps: the mean of each arm, its spread, and every run."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from vast.analysis.arms import Arm
from vast.analysis.drawing import (
    MUTED,
    PANEL,
    SMALL,
    panel,
    plain_axes,
    short,
    steps_below,
)

LEARNING = {
    "eval/score": "score of test games",
    "eval/mean_return": "test return per episode",
    "eval/reward_per_step": "test reward per step",
    "train/mean_return": "return per episode while learning",
}
FREE_ENERGY = {
    "train/reconstruction": "reconstruction (nats per sample)",
    "train/transition": "transition (nats per sample)",
    "train/entropy": "entropy (nats per sample)",
}
TABLE = {
    "table/states": "states in the table",
    "table/backups": "backups done",
    "table/queue": "states waiting to be swept",
    "table/revisited": "state-action pairs revisited (share)",
    "table/lookup_distance": "lookup distance (bits)",
    "table/reassigned": "frames reassigned (share)",
}
OTHER_LEARNING = {
    "train/loss": "loss",
    "train/td_error": "absolute TD error",
    "memory/entries": "entries in the memory",
    "memory/distance": "distance of the nearest entry",
    "memory/exact": "exact matches (share)",
}
"""titles of the metrics that reports draw, by what they tell"""


def logged(arms: Sequence[Arm], metrics: Mapping[str, str]) -> dict[str, str]:
    """Return those of some metrics that a run has logged at least twice."""
    return {
        key: title
        for key, title in metrics.items()
        if any(len(run.series(key)[0]) > 1 for arm in arms for run in arm.runs)
    }


def draw_metric(
    arms: Sequence[Arm], key: str, title: str = "", best: float | None = None
) -> Figure:
    """Return a metric over steps, with a legend if there are several arms.

    A thick line is the mean of an arm's runs, the band around it one standard deviation between
    them; thin lines are the runs. Dotted lines mark interventions. `best`: of the shortest path.
    """
    figure, ax = panel(2.45)
    metric_on(ax, arms, key, title or key)
    if best is not None:
        _mark_best(ax, best)
    if len(arms) > 1:
        legend_below(figure, [ax])
    return figure


def draw_metrics(arms: Sequence[Arm], metrics: Mapping[str, str], columns: int = 3) -> Figure:
    """Return several metrics, by their titles, in one figure."""
    rows = max(-(-len(metrics) // columns), 1)
    figure = Figure(figsize=(PANEL * columns, 2.5 * rows + 0.2), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for ax, (key, title) in zip(axes, metrics.items(), strict=False):
        metric_on(ax, arms, key, title)
    for ax in axes[len(metrics) :]:
        ax.set_axis_off()
    if len(arms) > 1:
        legend_below(figure, list(axes))
    return figure


def metric_on(ax: Axes, arms: Sequence[Arm], key: str, title: str) -> None:
    """Draw a metric into axes; arms that did not log it are left out."""
    arms = [arm for arm in arms if len(arm.curve(key).steps)]
    plain_axes(ax, title, "environment steps")
    for arm in arms:
        style: dict[str, Any] = {"color": arm.colour, "dashes": arm.dashes or (None, None)}
        name = f"{arm.name} ({len(arm.runs)} runs)" if len(arm.runs) > 1 else arm.name
        curve = arm.curve(key)
        few = len(curve.steps) <= 12
        ax.plot(
            curve.steps,
            curve.mean,
            linewidth=1.7,
            marker="o" if few else "",
            markersize=3.5,
            label=name,
            **style,
        )
        if len(arm.runs) > 1:
            low, high = curve.mean - curve.spread, curve.mean + curve.spread
            ax.fill_between(curve.steps, low, high, color=arm.colour, alpha=0.16, linewidth=0)
            for run in arm.runs:
                ax.plot(*run.series(key), linewidth=0.7, alpha=0.55, **style)
    steps_below(ax)
    ax.yaxis.set_major_locator(MaxNLocator(5))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: short(round(value, 10))))
    _mark_interventions(ax, arms)


def _mark_interventions(ax: Axes, arms: Sequence[Arm]) -> None:
    """Draw a line at each intervention that was reached, and say what it was."""
    planned: dict[tuple[int, str], list[Arm]] = {}
    for arm in arms:
        for text in arm.config.interventions:
            when, _, what = text.partition(":")
            if int(when) <= max(run.steps for run in arm.runs):
                planned.setdefault((int(when), what), []).append(arm)
    if planned:  # room for what is said of them
        low, high = ax.get_ylim()
        ax.set_ylim(low, high + 0.13 * min(len(planned), 3) * (high - low))
    for number, ((step, what), those) in enumerate(sorted(planned.items())):
        ink = MUTED if len(those) == len(arms) else those[0].colour
        ax.axvline(step, color=ink, linewidth=1, linestyle=(0, (1, 2)), zorder=1)
        ax.annotate(
            what,
            (step, 1),
            xycoords=("data", "axes fraction"),
            xytext=(-3, -2 - 10 * (number % 3)),
            textcoords="offset points",
            ha="right",
            va="top",
            fontsize=SMALL - 0.5,
            color=ink,
        )


def _mark_best(ax: Axes, best: float) -> None:
    """Draw a line at the return of the shortest path."""
    ax.axhline(best, color=MUTED, linestyle=(0, (4, 3)), linewidth=1)
    low, high = ax.get_ylim()
    top = max(high, best)
    ax.set_ylim(low, top + 0.12 * (top - low))
    ax.annotate(
        f"shortest path: {best:.2f}",
        (0.01, best),
        xycoords=("axes fraction", "data"),
        xytext=(0, 3),
        textcoords="offset points",
        fontsize=SMALL - 0.5,
        color=MUTED,
    )


def legend_below(figure: Figure, axes: Sequence[Axes]) -> None:
    """Put a legend of all lines below the axes; the figure grows by as much."""
    handles = {
        label: handle
        for ax in axes
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)
    }
    if not handles:
        return
    width, height = figure.get_size_inches()
    columns = max(1, int(width / PANEL * 46 // (max(map(len, handles)) + 7)))
    figure.set_size_inches(width, height + 0.08 + 0.165 * -(-len(handles) // columns))
    figure.legend(
        handles.values(),
        handles.keys(),
        loc="outside lower left",
        ncols=columns,
        fontsize=SMALL,
        frameon=False,
        handlelength=1.6,
        columnspacing=1.2,
        labelspacing=0.35,
    )
