"""The paper's mazes from above: walls, zones, where episodes start, and paths through them."""

from functools import lru_cache
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.patches import Polygon, Rectangle
from numpy.typing import NDArray

from vast.analysis.drawing import GOAL, WALL, arrowheads
from vast.envs.doom.maze import units
from vast.envs.doom.maze_text import parse_maze
from vast.envs.doom.wad_maps import Segment
from vast.envs.doom.world import SHIPPED, FloorPlan, open_world
from vast.experiments.interventions import FORCED_RUNS
from vast.tasks import make_env

Poses = NDArray[np.float64]
"""[n, 3] x, y, and heading in degrees"""
START, PENALTY, HAZARD = "#d5d3cc", "#eba6a3", "#c8373a"
ZONES = {"goal": GOAL, "penalty": PENALTY}
START_SIZE = {"large-maze": 128.0}
"""side of the square drawn around a start, in map units: the width of the outer rim"""
OTHER_START_SIZE = 64.0
JUMP = 100.0
"""map units; a longer step leads through a teleporter"""


@lru_cache
def floor_plan(maze: str, map_name: str) -> FloorPlan:
    """Return the walls and zones of one of the package's mazes; no engine is needed."""
    return open_world(maze).floor_plan(map_name)


def draw_floor(ax: Axes, maze: str, map_name: str, zones: dict[str, str] | None = None) -> None:
    """Draw a map: starts grey, zones in their colours, hazards hatched."""
    plan = floor_plan(maze, map_name)
    points = np.array(plan.walls).reshape(-1, 2)
    low, high = points.min(axis=0), points.max(axis=0)
    half = START_SIZE.get(maze, OTHER_START_SIZE) / 2
    for at in starts(maze, map_name):
        corner, end = np.maximum(at - half, low), np.minimum(at + half, high)
        ax.add_patch(Rectangle(tuple(corner), *(end - corner), color=START, linewidth=0, zorder=0))
    for area in plan.areas:
        corner = area.low_x, area.low_y
        size = area.high_x - area.low_x, area.high_y - area.low_y
        patch = Rectangle(corner, *size, linewidth=0, zorder=1, gid=area.kind)
        if area.kind == "hazard":
            patch.set(facecolor="none", edgecolor=HAZARD, hatch="/////", linewidth=0.4)
        else:
            # With an edge of its own colour: at column width a zone is narrower than a wall.
            patch.set(color=(zones or ZONES)[area.kind], linewidth=1.5)
        ax.add_patch(patch)
    _draw_walls(ax, plan.walls)
    _draw_walls(ax, plan.unseen, linestyle=(0, (1.5, 1.5)))
    ax.set_aspect("equal")
    ax.margins(0.03)
    ax.autoscale_view()
    ax.set_axis_off()


def _draw_walls(ax: Axes, segments: list[Segment], **style: Any) -> None:
    ends = [[(ax_, ay), (bx, by)] for ax_, ay, bx, by in segments]
    ax.add_collection(LineCollection(ends, colors=WALL, linewidths=0.9, zorder=4, **style))


def starts(maze: str, map_name: str) -> Poses:
    """Return [n, 2] where the episodes of a map begin."""
    text = (SHIPPED / f"{maze}.maze").read_text(encoding="utf-8")
    found = parse_maze(text, f"{maze}.maze").maps[map_name].starts
    return np.array([(units(start.at[0]), units(start.at[1])) for start in found])


def draw_path(ax: Axes, poses: Poses, colour: str, *, offset: float = 0.0) -> None:
    """Draw a path; where it leads through a teleporter, dotted."""
    at = poses[:, :2] + offset
    jumps = np.flatnonzero(np.hypot(*np.diff(at, axis=0).T) > JUMP)
    for piece in np.split(at, jumps + 1):
        ax.plot(*piece.T, color=colour, linewidth=0.9, zorder=3, gid="path")
    for jump in jumps:
        ax.plot(*at[jump : jump + 2].T, color=colour, linewidth=0.6, linestyle=":", zorder=3)
    draw_arrow(ax, np.append(at[-1], poses[-1, 2]), colour, 60.0)


def draw_arrow(ax: Axes, pose: Poses, colour: str, size: float = 50.0) -> None:
    """Draw an arrowhead at a pose."""
    ax.add_patch(Polygon(arrowheads(pose[None], size)[0], color=colour, linewidth=0, zorder=5))


def forced_path(task: str, run: str) -> Poses:
    """Return the poses of a forced run, played in the engine."""
    env = make_env(task)
    try:
        steps = list(FORCED_RUNS[run].play(env))
    finally:
        env.close()
    return np.array([steps[0].pose, *(step.next_pose for step in steps)])


def view(task: str, pose: tuple[float, float, float]) -> NDArray[np.uint8]:
    """Return what an agent sees at a pose."""
    env = make_env(task)
    try:
        observation, _ = env.reset(seed=0, options={"start": pose})
        return np.array(observation)
    finally:
        env.close()
