"""Fig. 1: what planning in a table learns from two episodes, and from a single run.

A, B: two episodes in a continuous T-maze, and the values that episodic control and planning learn
from them. C, D: one run of a trained agent from an arm that it never visited, and all values
after it.
"""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import PolyCollection
from matplotlib.colors import Normalize
from matplotlib.figure import Figure, SubFigure
from matplotlib.patches import Polygon, Rectangle
from numpy.typing import NDArray

from vast.analysis.drawing import FLOOR, GOAL, WALL, arrowheads
from vast.analysis.paper.lines import agent_label
from vast.analysis.paper.mazes import draw_floor
from vast.analysis.paper.panels import PAGE, TEXT, TICKS, draw_letter, new_figure, show_image
from vast.analysis.paper.probed import first_with, numbers
from vast.envs.tmaze2d import BAR_LENGTH, GOAL_Y, HALF_WIDTH, OUTLINE, STEM_END
from vast.experiments.probes.images import image_from
from vast.experiments.results import RunRecord
from vast.experiments.two_episodes import TwoEpisodes, run

FIRST, SECOND, BOTH = "#c8373a", "#2f6db5", "#b03a9e"
PROBE = "sightings"
ARROW = 26.0
"""length of an arrow in panels C and D, in map units"""


def draw(records: Sequence[RunRecord]) -> Figure:
    """Return the figure: A and B always, C and D if a run has what they show."""
    record = first_with(records, PROBE)
    if record is None:
        figure = new_figure(PAGE, 5.4)
        draw_two_episodes(figure)
        return figure
    figure = new_figure(PAGE, 12.6)
    above, below = figure.subfigures(2, 1, height_ratios=(5.4, 7.2), squeeze=False)[:, 0]
    draw_two_episodes(above)
    draw_one_run(below, record)
    return figure


# --- A, B -----------------------------------------------------------------------------------------


def draw_two_episodes(figure: Figure | SubFigure) -> None:
    """Draw A and B, and the values learned in both ways."""
    data = run()
    axes = figure.subplots(1, 4, sharex=True, sharey=True)
    colours = ScalarMappable(Normalize(0, 1), "viridis")
    _episodes(axes[0], data)
    _states(axes[1], data)
    _episodic_values(axes[2], data, colours)
    _planned_values(axes[3], data, colours)
    _colour_bar(figure, colours, list(axes[2:]))


def _colour_bar(figure: Figure | SubFigure, colours: ScalarMappable, axes: list[Axes]) -> None:
    bar = figure.colorbar(colours, ax=axes, shrink=0.8, pad=0.02, aspect=25)
    bar.set_label("value", fontsize=TEXT)
    bar.ax.tick_params(labelsize=TICKS, width=0.5, length=2)
    bar.outline.set(linewidth=0.5)


def _maze(ax: Axes, title: str, letter: str = "") -> None:
    ax.add_patch(Polygon(OUTLINE, facecolor=FLOOR, edgecolor="none", zorder=0))
    ax.add_patch(
        Rectangle((-HALF_WIDTH, STEM_END), 2 * HALF_WIDTH, GOAL_Y - STEM_END, color=GOAL, zorder=1)
    )
    ax.add_patch(Polygon(OUTLINE, facecolor="none", edgecolor=WALL, linewidth=1, zorder=6))
    ax.set(xlim=(-BAR_LENGTH - 0.4, BAR_LENGTH + 0.4), ylim=(STEM_END - 0.4, HALF_WIDTH + 0.4))
    ax.set_aspect("equal")
    ax.set_axis_off()
    _title(ax, letter, title)


def _title(ax: Axes, letter: str, title: str) -> None:
    ax.set_title(title, fontsize=TEXT, loc="left", x=0.11 if letter else 0.0)
    if letter:
        draw_letter(ax, letter, (0, 6 + 1.25 * TEXT * (title.count("\n") + 1)), va="top")


def _cells(ax: Axes, data: TwoEpisodes, colours: list[str] | NDArray[np.float64]) -> None:
    for (x, y), colour in zip(data.cells, colours, strict=True):
        ax.add_patch(
            Rectangle(
                (x - 0.5, y - 0.5), 1, 1, facecolor=colour, edgecolor="white", lw=0.4, zorder=2
            )
        )


def _paths(ax: Axes, data: TwoEpisodes, width: float) -> None:
    for episode, colour in zip(data.episodes, (FIRST, SECOND), strict=True):
        ax.plot(*episode.observations.T, color=colour, linewidth=width, zorder=3)
        ax.plot(*episode.observations[0], "o", color=colour, markersize=2 + width, zorder=4)


def _episodes(ax: Axes, data: TwoEpisodes) -> None:
    _maze(ax, "two episodes: the first one\nunrewarded (red)", "A")
    _paths(ax, data, 0.9)


def _states(ax: Axes, data: TwoEpisodes) -> None:
    _maze(ax, "coordinates rounded:\nsome states are shared", "B")
    first = {tuple(point) for point in np.rint(data.episodes[0].observations)}
    tints = [
        BOTH if shared else FIRST + "66" if tuple(cell) in first else SECOND + "66"
        for cell, shared in zip(data.cells, data.shared, strict=True)
    ]
    _cells(ax, data, tints)
    _paths(ax, data, 0.4)


def _episodic_values(ax: Axes, data: TwoEpisodes, colours: ScalarMappable) -> None:
    _maze(ax, "episodic control: the right\narm learns nothing")
    for episode, values in zip(data.episodes, data.episodic_values, strict=True):
        x, y = episode.observations[: len(values)].T
        ax.scatter(x, y, s=9, c=colours.to_rgba(values), edgecolors="white", lw=0.2, zorder=3)


def _planned_values(ax: Axes, data: TwoEpisodes, colours: ScalarMappable) -> None:
    _maze(ax, "sweeping: the right arm learns\nwithout being rewarded")
    _cells(ax, data, colours.to_rgba(data.cell_values))


# --- C, D -----------------------------------------------------------------------------------------


def draw_one_run(figure: Figure | SubFigure, record: RunRecord) -> None:
    """Draw C and D from what the probe of one run found."""
    data = record.probes[PROBE]
    left, middle, right = figure.subfigures(1, 3, width_ratios=(1, 0.42, 1.2), squeeze=False)[0]
    c, d = left.subplots(), right.subplots()
    _run(c, data)
    _observations(middle, data)
    _values(right, d, data, f"{agent_label(record)}, seed {record.seed}")


def step_colours(count: int) -> NDArray[np.float64]:
    """Return the colour of each step of the run, from its first to its last."""
    return ScalarMappable(Normalize(0, count - 1), "viridis").to_rgba(np.arange(count))


def _run(ax: Axes, data: dict[str, dict[str, list[float]]]) -> None:
    """Draw the run, and outlined in the same colours where its states were seen before."""
    _title(ax, "C", "a run out of the shut arm; outlined: where\nits states were seen before")
    draw_floor(ax, "t-maze", "TBLOCK")
    poses, before = numbers(data["run"]["poses"]), numbers(data["run"]["seen_at"], width=3)
    colours = step_colours(len(poses))
    known = np.isfinite(before[:, :2]).all(axis=1)
    _arrows(ax, poses, colours, gid="run")
    _arrows(ax, before[known], colours[known], gid="seen before", outlined=True)


def _observations(figure: Figure | SubFigure, data: dict[str, dict[str, list[str]]]) -> None:
    """Show what was seen in one state: on the run, framed in its colour, and before."""
    example = data["example"]
    if not example:
        return
    images = [example["observation"], *example["earlier"]]
    axes = figure.subplots(len(images), 1, squeeze=False)[:, 0]
    colour = step_colours(len(data["run"]["poses"]))[int(str(example["step"]))]
    for number, (ax, image) in enumerate(zip(axes, images, strict=True)):
        shown = image_from(str(image))
        grey = {"cmap": "gray"} if shown.shape[2] == 1 else {}
        title = {0: "one state: on the run", 1: "and before"}.get(number, "")
        show_image(ax, shown.squeeze(), title, **grey)
        if number == 0:
            ax.spines[:].set(color=tuple(colour), linewidth=1.5)


def _values(
    figure: Figure | SubFigure, ax: Axes, data: dict[str, dict[str, list[float]]], which: str
) -> None:
    """Draw the values of all states after the run, at their mean poses."""
    _title(ax, "D", f"values of all states after the run\n({which})")
    draw_floor(ax, "t-maze", "TBLOCK")
    poses, values = numbers(data["states"]["mean_poses"], width=3), numbers(data["states"]["after"])
    there = np.isfinite(poses).all(axis=1) & np.isfinite(values)
    poses, values = poses[there], values[there]
    low, high = np.percentile(values, [2, 99.5]) if len(values) else (0.0, 1.0)
    colours = ScalarMappable(Normalize(low, max(high, low + 1e-6)), "Reds")
    order = np.argsort(values)  # the highest on top
    _arrows(ax, poses[order], colours.to_rgba(values[order]), gid="states")
    _colour_bar(figure, colours, [ax])


def _arrows(
    ax: Axes,
    poses: NDArray[np.float64],
    colours: NDArray[np.float64],
    *,
    gid: str,
    outlined: bool = False,
) -> None:
    size = ARROW * (1.6 if gid != "states" else 0.8)
    ax.add_collection(
        PolyCollection(
            list(arrowheads(poses, size)),
            facecolors=colours,
            edgecolors="black" if outlined else "none",
            linewidths=0.7 if outlined else 0,
            zorder=6 if outlined else 5,
            gid=gid,
        )
    )
