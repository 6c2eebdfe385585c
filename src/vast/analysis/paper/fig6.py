"""Fig. 6: rewards reversed in the plus-maze, with a small and a large replay memory."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from vast.analysis.paper.lines import (
    Line,
    agent_line,
    by_arm,
    intervention_steps,
    legend_note,
    select,
)
from vast.analysis.paper.mazes import draw_floor
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

METRIC = "eval/reward_per_step"
HORIZONTAL, VERTICAL = "#9e6bb5", "#e8c547"
"""arms of the maze, in the paper's colours"""


def draw(records: Sequence[RunRecord]) -> Figure:
    """Return the figure: a panel for each size of the replay; agents without one are in both."""
    runs = select(
        records,
        "fig6",
        "plus-maze",
        such=lambda run: bool(run.interventions),
        what="with an intervention",
    )
    sizes = sorted({size for run in runs if (size := replay_size(run)) is not None}) or [0]
    figure = new_figure(PAGE, 7.4)
    first, *axes = figure.subplots(
        1, 1 + len(sizes), width_ratios=(0.7, *(1 for _ in sizes)), squeeze=False
    )[0]
    draw_inset(first)
    lines: list[Line] = []
    for ax, letter, size in zip(axes, "ABCDEF", sizes, strict=False):
        shown = size_lines(runs, size)
        title = f"replay of {size:,} frames" if size else ""
        panel(ax, letter, title, "" if lines else "reward per step")
        draw_lines(ax, shown)
        steps_axis(ax)
        mark_interventions(ax, intervention_steps(runs))
        ax.sharey(axes[0])
        lines += shown
    legend_below(figure, lines, legend_note(lines))
    return figure


def replay_size(record: RunRecord) -> int | None:
    """Return how many frames an agent's replay holds; None if it has none."""
    replay = record.config["settings"].get("replay")
    size = replay.get("capacity") if isinstance(replay, dict) else replay
    return None if size is None else int(size)


def deletes_evicted(record: RunRecord) -> bool:
    """Tell whether the counts of frames that leave the replay are deleted."""
    replay = record.config["settings"].get("replay")
    return isinstance(replay, dict) and bool(replay.get("delete_evicted"))


def size_lines(runs: Sequence[RunRecord], size: int) -> list[Line]:
    """Return the lines of all agents with a replay of this size, or without a replay."""
    found = []
    for arm in by_arm(run for run in runs if replay_size(run) in (size, None)):
        deleting = deletes_evicted(arm[0])
        one = agent_line(arm, METRIC, dashed=deleting)
        if one is None:
            continue
        if deleting:
            one = Line(one.name, f"{one.label}, evicted deleted", one.colour, one.runs, True)
        found.append(one)
    return found


def draw_inset(ax: Axes) -> None:
    """Draw the plus-maze with its two kinds of arms."""
    draw_floor(ax, "plus-maze", "PLUS", {"goal": HORIZONTAL, "penalty": VERTICAL})
    said = (("■", HORIZONTAL, "+1, then -1"), ("■", VERTICAL, "-1, then +1"))
    for row, (mark, colour, text) in enumerate(said):
        y = -0.08 - 0.09 * row
        ax.text(0.12, y, mark, color=colour, fontsize=9, va="center", transform=ax.transAxes)
        ax.text(0.26, y, text, fontsize=TEXT, va="center", transform=ax.transAxes)
