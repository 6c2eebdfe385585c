"""Fig. S2: all agents after a rewarded and after a penalised forced run."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from vast.analysis.paper.fig5 import METRICS, finish
from vast.analysis.paper.lines import Line, agent_lines, legend_note, select
from vast.analysis.paper.panels import PAGE, draw_lines, legend_below, new_figure, panel
from vast.experiments.results import RunRecord

PANELS = {"rewarded": ("A", "rewarded run"), "penalised": ("B", "penalised run")}


def draw(records: Sequence[RunRecord]) -> Figure:
    """Return the figure."""
    forks = f"with the fork {' or '.join(PANELS)}"
    runs = select(records, "figS2", "h-maze", such=lambda run: run.fork in PANELS, what=forks)
    figure = new_figure(PAGE, 11.5)
    axes = figure.subplots(2, 2, sharex=True, sharey="row")
    every: list[Line] = []
    for row, (metric, label) in enumerate(METRICS.items()):
        for column, (fork, (letter, title)) in enumerate(PANELS.items()):
            ax = axes[row, column]
            lines = agent_lines([run for run in runs if run.fork == fork], metric)
            panel(ax, "" if row else letter, "" if row else title, "" if column else label)
            draw_lines(ax, lines)
            finish(ax, runs, last=row == 1)
            every += lines
    legend_below(figure, every, legend_note(every))
    return figure
