"""Fig. 4: the number of bits of a state, in the large maze."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from vast.analysis.paper.bits import bit_lines
from vast.analysis.paper.lines import agent_of, legend_note, select
from vast.analysis.paper.panels import (
    COLUMN,
    draw_lines,
    legend_below,
    new_figure,
    panel,
    steps_axis,
)
from vast.experiments.results import RunRecord


def draw(records: Sequence[RunRecord]) -> Figure:
    """Return the figure."""
    runs = select(records, "fig4", "large-maze")
    figure = new_figure(COLUMN, 10.5)
    a, b = figure.subplots(2, 1, sharex=True)
    rewards = bit_lines(runs, "eval/reward_per_step")
    panel(a, "A", agent_of(runs), "reward per step")
    draw_lines(a, rewards, band=True)
    revisited = bit_lines(runs, "table/revisited", scale=100.0)
    panel(b, "B", "", "revisited state-action pairs (%)")
    draw_lines(b, revisited)
    steps_axis(a, label=False)
    steps_axis(b)
    legend_below(figure, rewards, legend_note(rewards, band=True), columns=4)
    return figure
