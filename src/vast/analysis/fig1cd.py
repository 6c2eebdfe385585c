"""Fig. 1C, D: one run from an arm never visited, and the values that it gives to its states."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from vast.analysis.drawing import FLOOR, INKS, SMALL, WALL, plain_axes
from vast.analysis.value_map import colour_bar, colours_for, draw_arrows, draw_plan, known_poses
from vast.envs.doom.world import FloorPlan
from vast.experiments.one_run import OneRun

SHUT = 64.0
"""x of the invisible wall that shut the arm during training"""


def draw_one_run(plan: FloorPlan, data: OneRun) -> Figure:
    """Return the maze before and after the run, and the values along it."""
    figure = Figure(figsize=(12.6, 4.2), layout="constrained")
    left, middle, right = figure.subplots(1, 3, width_ratios=(1, 1, 0.9))
    colours = colours_for(*data.around_values, data.run_values[1])
    for ax, after, title in (
        (
            left,
            0,
            "C  after training; the run from the arm\nthat was shut is mostly unknown (grey)",
        ),
        (
            middle,
            1,
            "D  after this single run, without reward\nand without a change in the networks",
        ),
    ):
        draw_plan(ax, plan, title)
        draw_arrows(ax, *known_poses(data.around, data.around_values[after]), colours)
        draw_arrows(ax, data.run.poses, data.run_values[after], colours, outlined=True)
    colour_bar(figure, colours, [left, middle])
    draw_along(right, data)
    return figure


def draw_along(ax: Axes, data: OneRun) -> None:
    """Draw the values along the run, before and after it."""
    before, after = data.run_values
    steps = np.arange(len(after))
    plain_axes(ax, "value along the run", "step of the run")
    ax.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    inside = np.flatnonzero(data.run.poses[:, 0] > SHUT)
    ax.axvspan(-0.5, inside[-1] + 0.5, color=FLOOR, zorder=0)
    ax.annotate(
        "shut arm",
        (0, 1),
        xycoords=("data", "axes fraction"),
        xytext=(0, -12),
        textcoords="offset points",
        fontsize=SMALL,
        color=WALL,
    )
    ax.set_xlim(-0.5, len(after) - 0.5)
    ax.margins(y=0.12)
    ax.yaxis.set_major_locator(MaxNLocator(6))
    ax.yaxis.set_major_formatter("{x:.2f}")
    ax.plot(steps, after, color=INKS[0], linewidth=1.4, zorder=2)
    new, known = data.new & np.isfinite(after), ~data.new
    for which, fill, label in (
        (new, INKS[0], "after it, states that were new"),
        (known, "white", "after it, states known before"),
    ):
        ax.plot(
            steps[which],
            after[which],
            "o",
            markerfacecolor=fill,
            markeredgecolor=INKS[0],
            markersize=5,
            zorder=3,
            label=label,
        )
    ax.plot(
        steps[known], before[known], "x", color=INKS[1], markersize=5, zorder=4, label="before it"
    )
    ax.legend(fontsize=SMALL, frameon=False, loc="lower right")


def summarize(data: OneRun) -> str:
    """Summarize in a few sentences what the run changed."""
    before, after = data.run_values
    new, seen = data.new, len(before)
    # The last observation of the run gets a state, but nothing is known to follow from it.
    reached = after[new & np.isfinite(after)]
    if not len(reached) or new.all():
        known = int((~new).sum())
        return f"{known} of the {seen} observations of the run had states that were known before."
    met = before[~new]
    networks = "are unchanged, bit for bit" if data.same_networks else "HAVE CHANGED"
    return (
        f"{int(new.sum())} of the {seen} observations of the run had unknown states; "
        f"afterwards their values are {reached.min():.2f} to {reached.max():.2f}. The known states "
        f"on its way had values of {met.min():.2f} to {met.max():.2f}. "
        f"This took {data.backups:,} backups, and the networks {networks}."
    )
