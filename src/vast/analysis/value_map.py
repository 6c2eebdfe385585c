"""Values over the world: a mark for each state, or each observation, at its pose (Fig. 1D)."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import Normalize, to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from vast.analysis.drawing import (
    FLOOR,
    GOAL,
    HAZARD,
    PANEL,
    PENALTY,
    SMALL,
    TITLE,
    UNKNOWN,
    VALUES,
    WALL,
    arrowheads,
    panel,
)
from vast.envs.doom.wad_maps import Segment
from vast.envs.doom.world import FloorPlan
from vast.experiments.one_run import Views

Floats = NDArray[np.float64]

ZONES = {"goal": GOAL, "penalty": PENALTY, "hazard": HAZARD}
PLACE, HEADING = 20.0, 22.5
"""map units and degrees within which only one observation is drawn"""
ARROW = 17.0
"""length of an arrow, in map units"""
MARK = 1 / 42
"""length of a state's mark, as a share of the longer side of the world"""
LEAST_RANGE = 1e-6
"""of values that are told apart by colour"""
MANY = 300
"""marks above which they are drawn as one image"""


def draw_values(
    poses: Floats,
    values: Floats,
    plan: FloorPlan | None = None,
    title: str = "",
    label: str = "value",
) -> Figure:
    """Return a map with a mark at each (x, y, heading), coloured by value; all are drawn.

    Without headings a mark is a dot. What has no position, or no value, is left out.
    """
    figure, ax = map_panel(poses, plan, title)
    colours = colours_for(values)
    draw_marks(ax, poses, values, colours)
    colour_bar(figure, colours, [ax], label, below=True)
    return figure


def map_panel(poses: Floats, plan: FloorPlan | None, title: str) -> tuple[Figure, Axes]:
    """Return a panel with the world drawn in it, in its proportions."""
    figure, ax = panel(map_height(poses, plan) + 0.85)
    draw_world(ax, poses, plan, title)
    return figure, ax


def map_height(poses: Floats, plan: FloorPlan | None) -> float:
    """Return how high a map is drawn that is as wide as a panel, in inches."""
    width, height = extent(plan) if plan else _spans(poses)
    return 0.95 * PANEL * min(max(height / width, 0.35), 1.15)


def draw_world(ax: Axes, poses: Floats, plan: FloorPlan | None, title: str) -> None:
    """Draw the plan of a world or, if there is none, make room for the poses in it."""
    if plan is None:
        draw_blank(ax, poses, title)
    else:
        draw_plan(ax, plan, title)


def _spans(poses: Floats) -> tuple[float, float]:
    known = poses[np.isfinite(poses[:, :2]).all(axis=1), :2]
    width, height = (np.ptp(known, axis=0) if len(known) else np.ones(2)).tolist()
    return width or 1.0, height or 1.0


def colours_for(*values: Floats) -> ScalarMappable:
    """Return a colour scale that covers all but the rarest values."""
    known = np.concatenate(values)
    known = known[np.isfinite(known)]
    low, high = np.percentile(known, [2, 99.5]) if len(known) else (0.0, 1.0)
    if high - low < LEAST_RANGE:
        low, high = low - 0.5, high + 0.5
    return ScalarMappable(Normalize(low, high), VALUES)


def colour_bar(
    figure: Figure,
    colours: ScalarMappable,
    axes: list[Axes],
    label: str = "value",
    *,
    below: bool = False,
) -> None:
    """Draw the colour bar of some axes, below them or beside them."""
    if below:
        bar = figure.colorbar(colours, ax=axes, location="bottom", shrink=0.6, aspect=28, pad=0.02)
    else:
        bar = figure.colorbar(colours, ax=axes, shrink=0.8, pad=0.02)
    bar.set_label(label, fontsize=SMALL)
    bar.ax.tick_params(labelsize=SMALL)
    bar.locator = MaxNLocator(5)
    bar.update_ticks()
    bar.outline.set_visible(False)


def known_poses(views: Views, values: Floats) -> tuple[Floats, Floats]:
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
    _as_map(ax, title)


def draw_blank(ax: Axes, poses: Floats, title: str) -> None:
    """Make room for poses where there are no walls to draw."""
    known = poses[np.isfinite(poses[:, :2]).all(axis=1), :2]
    low, high = (known.min(axis=0), known.max(axis=0)) if len(known) else np.array([[0, 0], [1, 1]])
    size = np.maximum(high - low, 1e-9)
    corner, size = low - 0.04 * size, 1.08 * size
    ax.add_patch(Rectangle(tuple(corner), *size, color=FLOOR, linewidth=0, zorder=0))
    _as_map(ax, title)


def _as_map(ax: Axes, title: str) -> None:
    ax.set_aspect("equal")
    ax.margins(0.03)
    ax.autoscale_view()
    ax.set_axis_off()
    ax.set_title(title, fontsize=TITLE, loc="left")


def draw_marks(ax: Axes, poses: Floats, values: Floats, colours: ScalarMappable) -> None:
    """Draw a mark at each pose whose position and value are known, in the order given."""
    there = np.isfinite(poses[:, :2]).all(axis=1) & np.isfinite(values)
    poses, values = poses[there], values[there]
    turned = np.isfinite(poses[:, 2])
    size = MARK * max(ax.dataLim.width, ax.dataLim.height)  # of the world, drawn before
    for which, shapes in (
        (turned, arrowheads(poses[turned], size)),
        (~turned, _diamonds(poses[~turned], size / 3)),
    ):
        corners: Any = shapes  # one array: a list of many would be slow
        marks = PolyCollection(corners, facecolors=colours.to_rgba(values[which]), zorder=2)
        marks.set_linewidth(0)
        marks.set_rasterized(len(shapes) > MANY)
        ax.add_collection(marks)


def _diamonds(poses: Floats, size: float) -> Floats:
    corners = size * np.array([[1, 0], [0, 1], [-1, 0], [0, -1]])
    shapes: Floats = poses[:, None, :2] + corners
    return shapes


def draw_arrows(
    ax: Axes, poses: Floats, values: Floats, colours: ScalarMappable, *, outlined: bool = False
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


def _thinned(poses: Floats) -> NDArray[np.int64]:
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
