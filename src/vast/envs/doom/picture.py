"""A maze drawn from above: floors and walls in their mean colours, starts, zones, teleporters."""

from collections.abc import Iterator
from math import cos, hypot, radians, sin
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from vast.envs.doom.layout import Face, Kind, Layout, MapLine
from vast.envs.doom.maze import Maze, MazeMap, units
from vast.envs.doom.textures import textures
from vast.envs.doom.udmf import lay_out_maze
from vast.files import atomic_write

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ZONE_COLOURS = {"goal": "#2ca02c", "penalty": "#d62728", "hazard": "#ff7f0e"}
THICKNESS = 8
"""thickness of a drawn wall face, in map units"""
ARROW = 26
"""length of the arrow of a start's heading, in map units"""
INCHES = 11
"""the longer side of a map's picture"""
TELEPORT_COLOUR = "#8c2be2"
INK = "#202020"
Corners = list[tuple[float, float]]


def draw_maze(maze: Maze, path: str | Path) -> None:
    """Draw all maps of a maze, side by side, to a PNG file."""
    # Without pyplot: it would start a window system and keep a global figure.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    layouts, _ = lay_out_maze(maze)
    sizes = [_size(layout) for layout in layouts.values()]
    wide, high = max(size[0] for size in sizes), max(size[1] for size in sizes)
    # Wide maps are stacked, tall ones stand side by side.
    rows, columns = (len(layouts), 1) if wide > 1.3 * high else (1, len(layouts))
    inches = INCHES / max(wide, high)
    figure = Figure(
        figsize=(columns * (1.1 * wide * inches + 1), rows * (1.1 * high * inches + 1.5)),
        dpi=110,
        layout="constrained",
    )
    FigureCanvasAgg(figure)
    for number, (name, layout) in enumerate(layouts.items(), start=1):
        _draw_map(figure.add_subplot(rows, columns, number), maze.maps[name], layout)
    with atomic_write(Path(path)) as unfinished:
        figure.savefig(unfinished, format="png", bbox_inches="tight")


def _draw_map(axes: "Axes", map_: MazeMap, layout: Layout) -> None:
    from matplotlib.patches import Polygon

    for room in layout.rooms[: len(map_.rooms)]:
        pale = 0.5 + 0.5 * np.array(textures().colour(room.floor))
        axes.add_patch(Polygon(_corners(room.corners), facecolor=pale, edgecolor="none"))
    for line in layout.lines:
        if line.front.room < len(map_.rooms):
            _draw_line(axes, line)
    _draw_zones(axes, map_)
    _draw_starts(axes, map_)
    starts = f"{len(map_.starts)} start{'s' if len(map_.starts) > 1 else ''}"
    axes.set_title(f"{map_.name}: {starts}")
    axes.set_aspect("equal")
    axes.margins(0.05)
    axes.autoscale_view()


def _draw_zones(axes: "Axes", map_: MazeMap) -> None:
    from matplotlib.patches import Rectangle

    labelled: set[str] = set()
    for zone in map_.zones:
        low = (units(zone.low[0]), units(zone.low[1]))
        width, height = units(zone.high[0]) - low[0], units(zone.high[1]) - low[1]
        label = zone.kind if zone.kind not in labelled else None
        labelled.add(zone.kind)
        colour = ZONE_COLOURS[zone.kind]
        axes.add_patch(
            Rectangle(
                low, width, height, facecolor=colour, alpha=0.6, hatch="//", label=label, zorder=2
            )
        )
    if labelled:
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.05), ncols=3, frameon=False)


def _draw_line(axes: "Axes", line: MapLine) -> None:
    from matplotlib.patches import Polygon

    start, end = (tuple(units(v) for v in point) for point in (line.start, line.end))
    along = ((start[0], end[0]), (start[1], end[1]))
    if line.kind is Kind.INVISIBLE:
        axes.plot(*along, color=ZONE_COLOURS["penalty"], linestyle=(0, (4, 3)), linewidth=2)
    elif line.kind is Kind.EXIT:
        axes.plot(*along, color=TELEPORT_COLOUR, linestyle=":", linewidth=3)
    for face, inward in _painted(line):
        strip = _strip(start, end, inward * THICKNESS)
        colour = textures().colour(face.texture or "")
        rim = TELEPORT_COLOUR if line.kind is Kind.TELEPORTER else INK
        axes.add_patch(
            Polygon(strip, facecolor=colour, edgecolor=rim, linewidth=2.5 if rim != INK else 0.6)
        )
        # Names are written behind an outer wall, where there is space, and in front of a thin one.
        behind = line.back is None or line.kind is Kind.TELEPORTER
        _label(axes, face, start, end, inward * THICKNESS * (-2 if behind else 2))


def _painted(line: MapLine) -> Iterator[tuple[Face, int]]:
    """Return the faces of a line that have a texture, each with 1 (right side) or -1 (left)."""
    if line.front.texture:
        yield line.front, 1
    if line.back is not None and line.back.texture:
        yield line.back, -1


def _strip(start: tuple[float, ...], end: tuple[float, ...], depth: float) -> Corners:
    """Return the corners of a strip along a line, on its right if the depth is positive."""
    length = hypot(end[0] - start[0], end[1] - start[1])
    x, y = depth * (end[1] - start[1]) / length, depth * (start[0] - end[0]) / length
    return [
        (start[0], start[1]),
        (end[0], end[1]),
        (end[0] + x, end[1] + y),
        (start[0] + x, start[1] + y),
    ]


def _label(
    axes: "Axes", face: Face, start: tuple[float, ...], end: tuple[float, ...], depth: float
) -> None:
    strip = _strip(start, end, depth)
    middle = ((strip[2][0] + strip[3][0]) / 2, (strip[2][1] + strip[3][1]) / 2)
    upright = abs(end[1] - start[1]) > abs(end[0] - start[0])
    axes.text(
        *middle, face.texture or "", size=6, rotation=90 if upright else 0, ha="center", va="center"
    )


def _draw_starts(axes: "Axes", map_: MazeMap) -> None:
    for start in map_.starts:
        x, y = (units(value) for value in start.at)
        dx, dy = ARROW * cos(radians(start.angle)), ARROW * sin(radians(start.angle))
        axes.annotate(
            "",
            xy=(x + dx, y + dy),
            xytext=(x, y),
            arrowprops={"arrowstyle": "-|>", "color": "#1f5fbf", "shrinkA": 0, "shrinkB": 0},
        )
        axes.plot(x, y, marker="o", markersize=3, color="#1f5fbf")


def _corners(points: tuple[tuple[int, int], ...]) -> Corners:
    return [(units(x), units(y)) for x, y in points]


def _size(layout: Layout) -> tuple[float, float]:
    """Return the width and height of a map."""
    points = np.array([point for line in layout.lines for point in (line.start, line.end)])
    width, height = (points.max(axis=0) - points.min(axis=0)).tolist()
    return units(width), units(height)
