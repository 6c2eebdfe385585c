"""The texture of each wall: every wall has a different one, and walls end at corners (Fig. 3)."""

from collections import defaultdict
from collections.abc import Iterator
from math import hypot

from vast.envs.doom.geometry import side
from vast.envs.doom.layout import Edge, Face, Kind, Layout, MapLine
from vast.envs.doom.maze import UNIT, Point, Room, Teleporter
from vast.envs.doom.textures import DISTINCT_WALLS


class TexturePool:
    """Assigns automatic textures: a different one per wall, the same in all maps of a file."""

    def __init__(self, named: frozenset[str]) -> None:
        self._free = [name for name in DISTINCT_WALLS if name not in named]
        self._given: dict[object, str] = {}

    def pick(self, wall: object) -> str:
        """Return the texture of a wall; assign one if it has none yet."""
        if wall not in self._given:
            self._given[wall] = self._free[len(self._given) % len(self._free)]
        return self._given[wall]

    @property
    def repeats(self) -> int:
        """How many walls share a texture because there are not enough."""
        return max(0, len(self._given) - len(self._free))


def paint(layout: Layout, pool: TexturePool) -> None:
    """Assign a texture to every visible face of a map."""
    corners = _corners(layout)
    by_edge: dict[Edge, list[MapLine]] = defaultdict(list)
    for line in layout.lines:
        if line.visible:
            by_edge[line.edge].append(line)
    for edge, lines in by_edge.items():
        lines.sort(key=lambda line: _distance(edge.segment[0], _first(line, edge)))
        for right in (True, False):
            for number, run in enumerate(_runs(edge, lines, right, corners)):
                texture = _named(edge, right) or pool.pick(_wall(edge, run[0], right, number))
                _paint_run(run if right else run[::-1], right, edge, texture)


def _wall(edge: Edge, line: MapLine, right: bool, number: int) -> object:
    """Return what identifies a wall: the edge, its side, and the index of the wall along it.

    A teleporter is identified with the wall that it is in, so that it looks the same.
    """
    if line.kind is Kind.TELEPORTER and line.side is not None:
        edge, right, number = line.side, True, 0
    return edge.solid.place, edge.number, right, number


def _corners(layout: Layout) -> dict[Point, list[Point]]:
    """Return for each point the other ends of the visible lines that meet there."""
    leads: dict[Point, list[Point]] = defaultdict(list)
    for line in layout.lines:
        if line.visible:
            leads[line.start].append(line.end)
            leads[line.end].append(line.start)
    return leads


def _runs(
    edge: Edge, lines: list[MapLine], right: bool, corners: dict[Point, list[Point]]
) -> Iterator[list[MapLine]]:
    """Return the walls along an edge: consecutive lines up to a gap or a corner."""
    a, b = edge.segment
    toward = -1 if right else 1
    run: list[MapLine] = []
    for line in lines:
        if _face(line, edge, right) is None:
            continue
        joint = _first(line, edge)
        corner = any(side(a, b, other) == toward for other in corners[joint])
        if run and (corner or _last(run[-1], edge) != joint):
            yield run
            run = []
        run.append(line)
    if run:
        yield run


def _paint_run(run: list[MapLine], right: bool, edge: Edge, texture: str) -> None:
    along = 0.0
    for line in run:
        face = _face(line, edge, right)
        assert face is not None
        face.texture = texture
        face.offset = round(along / UNIT)
        along += _distance(line.start, line.end)


def _face(line: MapLine, edge: Edge, right: bool) -> Face | None:
    """Return a line's face on the right or left of its edge, None if it is not visible."""
    forward = _same_direction(line, edge)
    face = line.front if right == forward else line.back
    if line.kind is Kind.TELEPORTER and face is line.back:
        return None
    return face


def _named(edge: Edge, right: bool) -> str | None:
    """Return the texture that the file gives for one side of an edge, None if automatic."""
    solid = edge.solid
    if isinstance(solid, Room):
        return solid.walls
    if isinstance(solid, Teleporter):
        return solid.texture
    return solid.right if right else solid.left


def _same_direction(line: MapLine, edge: Edge) -> bool:
    (ax, ay), (bx, by) = edge.segment
    dx, dy = line.end[0] - line.start[0], line.end[1] - line.start[1]
    return (bx - ax) * dx + (by - ay) * dy > 0


def _first(line: MapLine, edge: Edge) -> Point:
    return line.start if _same_direction(line, edge) else line.end


def _last(line: MapLine, edge: Edge) -> Point:
    return line.end if _same_direction(line, edge) else line.start


def _distance(a: Point, b: Point) -> float:
    return hypot(b[0] - a[0], b[1] - a[1])
