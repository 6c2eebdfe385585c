"""Turns the rooms and walls of a maze into lines of a Doom map: cut where they touch, checked."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import Enum
from math import hypot

from vast.envs.doom.geometry import (
    Segment,
    cut,
    doubled_area,
    inside,
    meeting_points,
    midpoint,
    on_segment,
)
from vast.envs.doom.maze import (
    UNIT,
    MazeError,
    MazeMap,
    Point,
    Room,
    Solid,
    Teleporter,
    Wall,
    units,
)
from vast.envs.doom.textures import DISTINCT_WALLS

STRIP_DEPTH = 64
"""units of floor behind a teleporter's line; the engine needs a sector there"""


class Kind(Enum):
    """The kind of a line of the map."""

    WALL = "wall"
    INVISIBLE = "invisible wall"
    PASSAGE = "passage"
    TELEPORTER = "teleporter"
    EXIT = "teleporter's exit"


@dataclass
class Face:
    """One side of a line: its room and its texture."""

    room: int
    texture: str | None = None
    offset: int = 0
    """where in the texture this face begins, so that a wall cut in two still looks continuous"""


@dataclass(frozen=True)
class Edge:
    """A straight side of a room, wall or teleporter, before it is cut where others touch it."""

    segment: Segment
    solid: Solid
    number: int
    """the index of this side in its solid"""
    kind: Kind
    room: int | None = None
    """for a side of a room: the index of the room, which lies to the right"""


@dataclass
class MapLine:
    """A line of the map; the front is to the right of someone walking from start to end."""

    start: Point
    end: Point
    kind: Kind
    edge: Edge
    """the edge that it is a part of"""
    front: Face
    back: Face | None
    side: Edge | None = None
    """the side of the front's room along this line, if there is one"""
    tag: int = 0
    """for a teleporter and its exit: the number of the pair, counted from 1"""

    @property
    def blocks(self) -> bool:
        """Whether it stops the player."""
        return self.kind in (Kind.WALL, Kind.INVISIBLE)

    @property
    def visible(self) -> bool:
        """Whether it has a texture."""
        return self.kind in (Kind.WALL, Kind.TELEPORTER)


@dataclass
class Layout:
    """The geometry of one map: its rooms, each a sector, and its lines."""

    rooms: list[Room]
    lines: list[MapLine]


@dataclass
class Piece:
    """A segment that is not cut any further, and all the edges along it."""

    edges: list[tuple[Edge, Segment]] = field(default_factory=list)

    def room_to(self, right: bool, direction: Segment) -> int | None:
        """Return the room with a side here, on the right or left of this direction."""
        for edge, segment in self.edges:
            if edge.room is not None and (segment == direction) == right:
                return edge.room
        return None


def lay_out(map_: MazeMap) -> Layout:
    """Turn one map of a maze into lines; raise a `MazeError` with its place if this fails."""
    if not map_.rooms:
        raise map_.place.error(f"map {map_.name} must have a room")
    rooms = [_clockwise(room) for room in map_.rooms]
    entries = {id(t): _entry(t, rooms) for t in map_.teleporters}
    rooms += [_strip(t, entries[id(t)], rooms) for t in map_.teleporters]
    edges = list(_edges(map_, rooms, entries))
    lines = [_line(piece, rooms) for piece in _pieces(edges)]
    _pair_teleporters(map_, lines)
    layout = Layout(rooms, lines)
    check_closed(layout)
    return layout


def check_closed(layout: Layout) -> None:
    """Refuse a room whose outline has a gap: an even number of lines must end at each corner."""
    ends: dict[tuple[int, Point], int] = defaultdict(int)
    for line in layout.lines:
        rooms = {line.front.room} ^ ({line.back.room} if line.back else set())
        for room in rooms:
            ends[room, line.start] += 1
            ends[room, line.end] += 1
    for (room, (x, y)), count in ends.items():
        if count % 2:
            raise layout.rooms[room].place.error(
                f"the outline of the room must be closed, got a gap at {units(x):g},{units(y):g}"
            )


def _clockwise(room: Room) -> Room:
    """Return the room with clockwise corners, so that its floor is to the right of its sides."""
    area = doubled_area(room.corners)
    sides = room.edges()
    meetings = meeting_points(sides)
    if area == 0 or any(points - set(ends) for ends, points in zip(sides, meetings, strict=True)):
        raise room.place.error("the room's outline must not cross itself and must have an area")
    if len(set(room.corners)) < len(room.corners):
        raise room.place.error(
            "the corners of a room must be different: the outline is closed automatically"
        )
    return room if area < 0 else replace(room, corners=room.corners[::-1])


def _entry(teleporter: Teleporter, rooms: list[Room]) -> Segment:
    """Return the teleporter's line, directed so that its room is on the right."""
    a, b = teleporter.entry
    sides = [
        (start, end)
        for room in rooms
        for start, end in room.edges()
        if on_segment(a, (start, end)) and on_segment(b, (start, end))
    ]
    if len(sides) != 1:
        raise teleporter.place.error("a teleporter must lie in exactly one outer wall of a room")
    (start, end) = sides[0]
    same = (end[0] - start[0]) * (b[0] - a[0]) + (end[1] - start[1]) * (b[1] - a[1]) > 0
    return (a, b) if same else (b, a)


def _strip(teleporter: Teleporter, entry: Segment, rooms: list[Room]) -> Room:
    """Return the strip of floor behind a teleporter, which is never seen or entered."""
    a, b = entry
    room = next(r for r in rooms if any(on_segment(a, e) and on_segment(b, e) for e in r.edges()))
    scale = STRIP_DEPTH * UNIT / hypot(b[0] - a[0], b[1] - a[1])
    left = (round((a[1] - b[1]) * scale), round((b[0] - a[0]) * scale))
    corners = (b, a, (a[0] + left[0], a[1] + left[1]), (b[0] + left[0], b[1] + left[1]))
    unseen = teleporter.texture or DISTINCT_WALLS[0]
    return replace(room, corners=corners, walls=unseen, place=teleporter.place)


def _edges(map_: MazeMap, rooms: list[Room], entries: dict[int, Segment]) -> Iterator[Edge]:
    number = 0
    for solid in map_.solids:
        if isinstance(solid, Room):
            for i, segment in enumerate(rooms[number].edges()):
                yield Edge(segment, solid, i, Kind.WALL, number)
            number += 1
        elif isinstance(solid, Wall):
            kind = Kind.WALL if solid.visible else Kind.INVISIBLE
            for i, segment in enumerate(solid.edges()):
                yield Edge(segment, solid, i, kind)
        else:
            yield Edge(entries[id(solid)], solid, 0, Kind.TELEPORTER)
            yield Edge(solid.exit, solid, 1, Kind.EXIT)
    for strip in range(number, len(rooms)):
        for i, segment in enumerate(rooms[strip].edges()):
            yield Edge(segment, rooms[strip], i, Kind.WALL, strip)


def _pieces(edges: list[Edge]) -> list[Piece]:
    """Cut all edges where they touch, and group the edges along the same piece."""
    pieces: dict[frozenset[Point], Piece] = defaultdict(Piece)
    points = meeting_points([edge.segment for edge in edges])
    for edge, cuts in zip(edges, points, strict=True):
        parts = cut(edge.segment, cuts)
        if len(parts) > 1 and edge.kind in (Kind.TELEPORTER, Kind.EXIT):
            raise edge.solid.place.error(f"a {edge.kind.value} must not touch other lines midway")
        for part in parts:
            pieces[frozenset(part)].edges.append((edge, part))
    return list(pieces.values())


def _line(piece: Piece, rooms: list[Room]) -> MapLine:
    """Return the line of a piece: a wall or teleporter takes precedence over sides of rooms."""
    drawn = [(edge, part) for edge, part in piece.edges if edge.room is None]
    if len(drawn) > 1:
        raise drawn[1][0].solid.place.error("a wall or line must not lie on top of another one")
    sides = [edge for edge, _ in piece.edges if edge.room is not None]
    edge, direction = drawn[0] if drawn else piece.edges[0]
    right, left = piece.room_to(True, direction), piece.room_to(False, direction)
    _check_overlap(sides, midpoint(direction), {right, left} - {None}, rooms)
    if not sides:
        right = left = _room_around(edge, direction, rooms)
    if right is None:
        direction, right, left = (direction[1], direction[0]), left, right
    assert right is not None
    kind = edge.kind
    if not drawn and left is not None:
        kind = Kind.PASSAGE
    if left is None and kind is Kind.INVISIBLE:
        raise edge.solid.place.error(
            "an invisible wall must not lie along a solid wall: it would have no effect"
        )
    if left is None and kind is Kind.EXIT:
        raise edge.solid.place.error("a teleporter's exit must lie inside a room")
    back = None if left is None else Face(left)
    own_side = next((side for side in sides if side.room == right), None)
    return MapLine(*direction, kind, edge, Face(right), back, own_side)


def _check_overlap(
    sides: list[Edge], middle: Point, own: set[int | None], rooms: list[Room]
) -> None:
    """Refuse rooms that overlap: a side of one lies in or along the interior of another."""
    numbers = [edge.room for edge in sides if edge.room is not None]
    if len(numbers) > len(own):
        others = [number for number in numbers if number not in own] or numbers[1:]
        raise _overlap(rooms[numbers[0]], rooms[others[0]])
    for number, room in enumerate(rooms):
        if numbers and number not in own and inside(middle, room.corners):
            raise _overlap(rooms[numbers[0]], room)


def _overlap(first: Room, second: Room) -> MazeError:
    earlier, later = sorted((first.place, second.place), key=lambda place: place.line)
    return later.error(
        f"the room must not overlap the room of line {earlier.line}: rooms may only touch"
    )


def _room_around(edge: Edge, direction: Segment, rooms: list[Room]) -> int:
    for number, room in enumerate(rooms):
        if inside(midpoint(direction), room.corners):
            return number
    (ax, ay), (bx, by) = direction
    raise edge.solid.place.error(
        f"the {edge.kind.value} must lie in a room, got none "
        f"from {units(ax):g},{units(ay):g} to {units(bx):g},{units(by):g}"
    )


def _pair_teleporters(map_: MazeMap, lines: list[MapLine]) -> None:
    for tag, teleporter in enumerate(map_.teleporters, start=1):
        for line in lines:
            if line.edge.solid is teleporter:
                line.tag = tag
