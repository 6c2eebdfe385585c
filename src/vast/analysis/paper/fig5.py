"""Fig. 5: one experience of a shortcut in the H-maze."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from vast.analysis.paper.lines import (
    Line,
    agent_label,
    agent_lines,
    by_arm,
    intervention_steps,
    kind,
    legend_note,
    line,
    select,
)
from vast.analysis.paper.mazes import draw_floor, draw_path, forced_path
from vast.analysis.paper.panels import (
    PAGE,
    TEXT,
    draw_lines,
    legend_below,
    mark_interventions,
    new_figure,
    panel,
    steps_axis,
)
from vast.experiments.results import RunRecord

REWARD, TELEPORTED = "eval/reward_per_step", "eval/with_teleporter"
CONDITIONS = {
    "no-run": ("no forced run", "#777777"),
    "rewarded": ("rewarded run", "#117733"),
    "penalised": ("penalised run", "#882255"),
}
"""fork -> label and colour; none of the colours is an agent's"""
METRICS = {REWARD: "reward per step", TELEPORTED: "episodes through\nthe teleporter (share)"}


def draw(records: Sequence[RunRecord]) -> Figure:
    """Return the figure: A for each VaST that was run, B for all agents after a rewarded run."""
    forks = f"with the fork {' or '.join(CONDITIONS)}"
    runs = select(records, "fig5", "h-maze", such=lambda run: run.fork in CONDITIONS, what=forks)
    variants = list(dict.fromkeys(kind(arm[0]) for arm in by_arm(runs) if arm[0].agent == "vast"))
    figure = new_figure(PAGE, 11.5)
    columns = len(variants) + 1
    left, right = figure.subfigures(1, 2, width_ratios=(0.9, columns), squeeze=False)[0]
    top, below = left.subplots(2, 1)
    draw_inset(top, {name: colour for name, (_, colour) in CONDITIONS.items()})
    axes = right.subplots(2, columns, sharex=True, sharey="row", squeeze=False)
    lines: list[Line] = []
    for row, (metric, label) in enumerate(METRICS.items()):
        for column, variant in enumerate(variants):
            shown = condition_lines([run for run in runs if kind(run) == variant], metric)
            ax = axes[row, column]
            letter = "A" if row == 0 and column == 0 else ""
            title = "" if row else label_of(variant, runs)
            panel(ax, letter, title, "" if column else label)
            draw_lines(ax, shown)
            finish(ax, runs, last=row == 1)
        ax = axes[row, columns - 1]
        agents = agent_lines([run for run in runs if run.fork == "rewarded"], metric)
        panel(ax, "" if row else "B", "" if row else "all agents, rewarded run")
        draw_lines(ax, agents)
        finish(ax, runs, last=row == 1)
        lines += agents
    draw_conditions(below, lines)
    legend_below(figure, lines, legend_note(all_lines(runs)))
    return figure


def label_of(variant: str, runs: Sequence[RunRecord]) -> str:
    """Return what the figure calls one of the VaST agents."""
    return agent_label(next(run for run in runs if kind(run) == variant))


def all_lines(runs: Sequence[RunRecord]) -> list[Line]:
    """Return the lines of all panels, of which the note says how many seeds they have."""
    found = [line(arm, REWARD, label="", colour="") for arm in by_arm(runs)]
    return [one for one in found if one is not None]


def condition_lines(runs: Sequence[RunRecord], metric: str) -> list[Line]:
    """Return a line for each condition of one agent."""
    found = []
    for fork, (label, colour) in CONDITIONS.items():
        of_fork = [run for run in runs if run.fork == fork]
        one = line(of_fork, metric, label=label, colour=colour) if of_fork else None
        found += [one] if one else []
    return found


def finish(ax: Axes, runs: Sequence[RunRecord], *, last: bool) -> None:
    """Mark when the teleporter opened, and show as much before it as after it."""
    steps_axis(ax, label=last)
    opened = intervention_steps(runs)
    mark_interventions(ax, opened)
    end = max(run.steps for run in runs)
    if opened and end > opened[0]:
        ax.set_xlim(max(0, 2 * opened[0] - end), end)


def draw_inset(ax: Axes, colours: Mapping[str, str]) -> None:
    """Draw the H-maze with its zones and the two forced runs."""
    draw_floor(ax, "h-maze", "HON")
    for offset, (fork, path) in enumerate(paths().items()):
        draw_path(ax, path, colours[fork], offset=14.0 * (2 * offset - 1))


def paths() -> dict[str, NDArray[np.float64]]:
    """Return the poses of the two forced runs."""
    return {fork: forced_path("h-maze", f"h-maze-{fork}") for fork in ("rewarded", "penalised")}


def draw_conditions(ax: Axes, lines: Sequence[Line]) -> None:
    """Write what the colours of panel A mean."""
    ax.set_axis_off()
    for row, (label, colour) in enumerate(CONDITIONS.values()):
        y = 0.85 - 0.16 * row
        ax.plot([0.02, 0.16], [y, y], color=colour, linewidth=1.5, transform=ax.transAxes)
        ax.text(0.22, y, label, fontsize=TEXT, va="center", transform=ax.transAxes)
    ax.text(
        0.02,
        0.85 - 0.16 * len(CONDITIONS),
        "▼ the teleporter opens,\n    and the run is shown",
        fontsize=TEXT,
        va="top",
        transform=ax.transAxes,
    )
