"""The values of an agent's states over the poses at which it observed them."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import Normalize, to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from vast.analysis.drawing import GOAL, SMALL, TITLE, UNKNOWN, WALL, arrowheads
from vast.envs.doom.wad_maps import Segment
from vast.envs.doom.world import FloorPlan
from vast.experiments.one_run import Views

ZONES = {"goal": GOAL, "penalty": "#eba6a3", "hazard": "#f3cf9b"}
PLACE, HEADING = 20.0, 22.5
"""map units and degrees within which only one observation is drawn"""
ARROW = 17.0
"""length of an arrow, in map units"""


def draw_values(plan: FloorPlan, views: Views, values: NDArray[np.float64]) -> Figure:
    """Return a picture of a map with an arrow for each view, coloured by its value."""
    width, height = extent(plan)
    scale = 6.5 / max(width, height)
    figure = Figure(figsize=(scale * width + 1.6, scale * height + 0.7), layout="constrained")
    ax = figure.subplots()
    colours = colours_for(values)
    draw_plan(ax, plan, "value of the observed states, by position and heading")
    draw_arrows(ax, *known_poses(views, values), colours)
    colour_bar(figure, colours, [ax])
    return figure


def colours_for(*values: NDArray[np.float64]) -> ScalarMappable:
    """Return a colour scale that covers all but the rarest values."""
    known = np.concatenate(values)
    known = known[np.isfinite(known)]
    low, high = np.percentile(known, [2, 99.5]) if len(known) else (0.0, 1.0)
    return ScalarMappable(Normalize(low, max(high, low + 1e-6)), "viridis")


def colour_bar(
    figure: Figure, colours: ScalarMappable, axes: list[Axes], label: str = "value"
) -> None:
    """Draw the colour bar of some axes."""
    bar = figure.colorbar(colours, ax=axes, shrink=0.8, pad=0.02)
    bar.set_label(label, fontsize=SMALL)
    bar.ax.tick_params(labelsize=SMALL)


def known_poses(
    views: Views, values: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the poses and values of the views whose states are in the table."""
    there = np.isfinite(values)
    return views.poses[there], values[there]


def draw_plan(ax: Axes, plan: FloorPlan, title: str) -> None:
    """Draw walls, dotted if they are invisible, and zones."""
    for area in plan.areas:
        low = (area.low_x, area.low_y)
        size = (area.high_x - area.low_x, area.high_y - area.low_y)
        ax.add_patch(Rectangle(low, *size, color=ZONES[area.kind], linewidth=0, zorder=0))
    ax.add_collection(
        LineCollection(_ends(plan.walls), colors=WALL, linewidths=1.6, capstyle="round", zorder=4)
    )
    ax.add_collection(
        LineCollection(_ends(plan.unseen), colors=WALL, linewidths=1.2, linestyles=[(0, (2, 2))])
    )
    ax.set_aspect("equal")
    ax.margins(0.03)
    ax.autoscale_view()
    ax.set_axis_off()
    ax.set_title(title, fontsize=TITLE)


def draw_arrows(
    ax: Axes,
    poses: NDArray[np.float64],
    values: NDArray[np.float64],
    colours: ScalarMappable,
    *,
    outlined: bool = False,
) -> None:
    """Draw an arrow per pose; grey where the value is unknown."""
    kept = np.arange(len(poses)) if outlined else _thinned(poses)
    faces = colours.to_rgba(values[kept])
    faces[np.isnan(values[kept])] = to_rgba(UNKNOWN)
    triangles = arrowheads(poses[kept], ARROW * (1.5 if outlined else 1))
    ax.add_collection(
        PolyCollection(
            list(triangles),
            facecolors=faces,
            edgecolors=WALL if outlined else "none",
            linewidths=0.8 if outlined else 0,
            zorder=3 if outlined else 2,
        )
    )


def _thinned(poses: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the rows of the first observation in each small range of poses."""
    cells = np.floor(poses / (PLACE, PLACE, HEADING)).astype(np.int64)
    _, first = np.unique(cells, axis=0, return_index=True)
    return first


def _ends(segments: list[Segment]) -> list[list[tuple[float, float]]]:
    return [[(ax, ay), (bx, by)] for ax, ay, bx, by in segments]


def extent(plan: FloorPlan) -> tuple[float, float]:
    """Return how wide and how high a map is."""
    points = np.array(plan.walls).reshape(-1, 2)
    width, height = np.ptp(points, axis=0).tolist()
    return width, height
