"""Fig. 3: the large maze without and with hazards, agent against agent."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from vast.analysis.paper.lines import agent_lines, legend_note, select
from vast.analysis.paper.mazes import draw_arrow, draw_floor, view
from vast.analysis.paper.panels import (
    PAGE,
    draw_lines,
    legend_below,
    new_figure,
    panel,
    say_missing,
    show_image,
    steps_axis,
)
from vast.experiments.results import RunRecord

METRIC = "eval/reward_per_step"
EXAMPLE = (448.0, -300.0, 90.0)
"""the pose of the example observation, in the outer rim"""
PANELS = {"large-maze": ("B", "without hazards"), "large-maze-hazards": ("C", "with hazards")}


def draw(records: Sequence[RunRecord]) -> Figure:
    """Return the figure; a task that was not run stays empty, and says so."""
    some = [record for record in records if record.task in PANELS]
    runs = some or select(records, "fig3", "large-maze")
    figure = new_figure(PAGE, 7.6)
    places = figure.add_gridspec(2, 3, width_ratios=(0.8, 1, 1), height_ratios=(1.7, 1))
    draw_maze(figure.add_subplot(places[0, 0]), figure.add_subplot(places[1, 0]))
    b, c = (figure.add_subplot(places[:, column]) for column in (1, 2))
    lines = []
    for ax, (task, (letter, title)) in zip((b, c), PANELS.items(), strict=True):
        of_task = agent_lines([run for run in runs if run.task == task], METRIC)
        panel(ax, letter, title, "reward per step" if ax is b else "")
        draw_lines(ax, of_task)
        steps_axis(ax)
        if not of_task:
            say_missing(ax)
        lines += of_task
    legend_below(figure, lines, legend_note(lines))
    return figure


def draw_maze(ax: Axes, below: Axes) -> None:
    """Draw panel A: the map, and what the agent sees at the arrow."""
    panel(ax, "A")
    draw_floor(ax, "large-maze", "LARGE")
    draw_arrow(ax, np.array(EXAMPLE), "black", 70.0)
    show_image(below, view("large-maze", EXAMPLE))
