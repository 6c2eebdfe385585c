"""Fig. S1: the number of bits of a state, in a large maze (left) and a small one (right)."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from vast.analysis.paper.bits import bit_lines, in_order
from vast.analysis.paper.lines import Line, agent_of, legend_note, select
from vast.analysis.paper.panels import (
    PAGE,
    draw_lines,
    legend_below,
    new_figure,
    panel,
    say_missing,
    steps_axis,
)
from vast.experiments.results import RunRecord

COLUMNS = {"large-maze": "large maze", "plus-maze": "plus-maze"}
ROWS = {
    "eval/reward_per_step": ("A", "reward per step", 1.0),
    "table/revisited": ("B", "revisited pairs (%)", 100.0),
    "table/lookup_distance": ("C", "lookup distance m (bits)", 1.0),
    "table/reassigned": ("D", "reassigned (%)", 100.0),
}
"""metric -> letter, label and scale"""


def draw(records: Sequence[RunRecord]) -> Figure:
    """Return the figure; a maze that was not run stays empty, and says so."""
    if not any(record.task in COLUMNS for record in records):
        select(records, "figS1", " or ".join(COLUMNS))
    figure = new_figure(PAGE, 17.5)
    axes = figure.subplots(len(ROWS), len(COLUMNS), sharex="col", squeeze=False)
    every: list[Line] = []
    for column, (task, title) in enumerate(COLUMNS.items()):
        runs = [record for record in records if record.task == task]
        vast = [run for run in runs if run.agent == "vast"]
        for row, (metric, (letter, label, scale)) in enumerate(ROWS.items()):
            ax = axes[row, column]
            lines = bit_lines(vast, metric, scale)
            heading = "" if row else ", ".join(filter(None, [title, agent_of(vast)]))
            panel(ax, "" if column else letter, heading, "" if column else label)
            draw_lines(ax, lines, band=metric.startswith("eval/"))
            steps_axis(ax, label=row == len(ROWS) - 1)
            if not lines:
                say_missing(ax, "not recorded" if runs else "not run yet")
            every += lines
    note = legend_note(every, band=True)
    legend_below(figure, sorted(every, key=in_order), note, columns=5)
    return figure
