"""The values before and after a change of the table, and where greedy actions lead."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import Normal, Stroke

from vast.analysis.drawing import AGENT_COLOURS, INK, PAPER, SMALL, panel
from vast.analysis.states import Floats, States
from vast.analysis.value_map import (
    colour_bar,
    colours_for,
    draw_marks,
    draw_world,
    map_height,
)
from vast.analysis.what_ifs import WhatIf
from vast.envs.doom.world import FloorPlan

PATH = AGENT_COLOURS["nec"]
ENDS = {
    "terminal": "the episode ends",
    "open": "nothing is known to follow",
    "loop": "it goes round",
}
"""how a path ends"""


def draw_what_if(
    found: WhatIf,
    states: States,
    poses: Floats,
    plan: FloorPlan | None = None,
    *,
    after: bool = True,
) -> Figure:
    """Return the values after a change, or before it, and the greedy path.

    `poses` are the places of the states, row by row. The path is drawn where there is a plan.
    """
    title = f"after: {found.change}" if after else "before"
    figure, ax = panel(map_height(poses, plan) + (1.15 if found.paths and plan else 0.85))
    draw_world(ax, poses, plan, title)
    values = found.after if after else found.before
    colours = colours_for(values)
    draw_marks(ax, poses, values, colours)
    if found.paths and plan:
        _draw_path(ax, poses[states.rows(found.paths[after].states)])
        ax.legend(
            loc="upper left",
            bbox_to_anchor=(0, 0),
            fontsize=SMALL,
            frameon=False,
            ncols=3,
            handlelength=1.4,
            columnspacing=1.0,
            borderaxespad=0.2,
        )
    colour_bar(figure, colours, [ax], below=True)
    return figure


def _draw_path(ax: Axes, poses: Floats) -> None:
    """Draw where a path leads, with its start and its end."""
    x, y = poses[np.isfinite(poses[:, :2]).all(axis=1), :2].T
    halo = [Stroke(linewidth=4, foreground=PAPER), Normal()]
    ax.plot(x, y, color=PATH, linewidth=2, zorder=5, path_effects=halo, label="greedy path")
    ax.plot(
        x[:1], y[:1], "o", color=PAPER, markeredgecolor=PATH, markersize=7, zorder=6, label="start"
    )
    ax.plot(
        x[-1:], y[-1:], "*", color=PATH, markeredgecolor=INK, markersize=11, zorder=6, label="end"
    )
