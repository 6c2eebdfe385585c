"""Fig. 1A, B: two episodes, and the values that episodic control and planning learn from them."""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Polygon, Rectangle

from vast.analysis.drawing import save
from vast.envs.tmaze2d import BAR_LENGTH, GOAL_Y, HALF_WIDTH, STEM_END
from vast.experiments.two_episodes import TwoEpisodes, run

FIRST, SECOND, BOTH = "#c8373a", "#2f6db5", "#b03a9e"
FLOOR, GOAL, WALL = "#f3f2ee", "#a9d8a0", "#3c3c3c"
OUTLINE = [
    (-BAR_LENGTH, HALF_WIDTH),
    (BAR_LENGTH, HALF_WIDTH),
    (BAR_LENGTH, -HALF_WIDTH),
    (HALF_WIDTH, -HALF_WIDTH),
    (HALF_WIDTH, STEM_END),
    (-HALF_WIDTH, STEM_END),
    (-HALF_WIDTH, -HALF_WIDTH),
    (-BAR_LENGTH, -HALF_WIDTH),
]


def draw(out: Path) -> Path:
    """Play the two episodes, draw them and their values into `out`, and return the file."""
    data = run()
    figure = Figure(figsize=(12.6, 3.9), layout="constrained")
    axes = figure.subplots(1, 4, sharex=True, sharey=True)
    colours = ScalarMappable(Normalize(0, 1), "viridis")
    _episodes(axes[0], data)
    _states(axes[1], data)
    _episodic_values(axes[2], data, colours)
    _planned_values(axes[3], data, colours)
    figure.colorbar(colours, ax=axes[2:], label="value", shrink=0.8, pad=0.02)
    return save(figure, out / "fig1.png")


def _maze(ax: Axes, title: str) -> None:
    ax.add_patch(Polygon(OUTLINE, facecolor=FLOOR, edgecolor="none", zorder=0))
    ax.add_patch(
        Rectangle((-HALF_WIDTH, STEM_END), 2 * HALF_WIDTH, GOAL_Y - STEM_END, color=GOAL, zorder=1)
    )
    ax.add_patch(Polygon(OUTLINE, facecolor="none", edgecolor=WALL, linewidth=1.6, zorder=6))
    ax.set(xlim=(-BAR_LENGTH - 0.4, BAR_LENGTH + 0.4), ylim=(STEM_END - 0.4, HALF_WIDTH + 0.4))
    ax.set_aspect("equal")
    ax.set_axis_off()
    ax.set_title(title, fontsize=10)


def _cells(ax: Axes, data: TwoEpisodes, colours: list[str] | np.ndarray) -> None:
    for (x, y), colour in zip(data.cells, colours, strict=True):
        ax.add_patch(
            Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor=colour, edgecolor="white", zorder=2)
        )


def _paths(ax: Axes, data: TwoEpisodes, width: float) -> None:
    for episode, colour in zip(data.episodes, (FIRST, SECOND), strict=True):
        ax.plot(*episode.observations.T, color=colour, linewidth=width, zorder=3)
        ax.plot(*episode.observations[0], "o", color=colour, markersize=3 + width, zorder=4)


def _episodes(ax: Axes, data: TwoEpisodes) -> None:
    _maze(ax, "A  two episodes: the first unrewarded,\nthe second reaches the goal")
    _paths(ax, data, 1.4)


def _states(ax: Axes, data: TwoEpisodes) -> None:
    _maze(ax, "B  coordinates rounded:\nsome states are shared")
    first = {tuple(point) for point in np.rint(data.episodes[0].observations)}
    tints = [
        BOTH if shared else FIRST + "66" if tuple(cell) in first else SECOND + "66"
        for cell, shared in zip(data.cells, data.shared, strict=True)
    ]
    _cells(ax, data, tints)
    _paths(ax, data, 0.6)


def _episodic_values(ax: Axes, data: TwoEpisodes, colours: ScalarMappable) -> None:
    _maze(ax, "episodic control:\nthe right arm learns nothing")
    for episode, values in zip(data.episodes, data.episodic_values, strict=True):
        x, y = episode.observations[: len(values)].T
        ax.scatter(x, y, s=24, c=colours.to_rgba(values), edgecolors="white", lw=0.3, zorder=3)


def _planned_values(ax: Axes, data: TwoEpisodes, colours: ScalarMappable) -> None:
    _maze(ax, "prioritized sweeping: the right arm\nlearns without ever being rewarded")
    _cells(ax, data, colours.to_rgba(data.cell_values))
