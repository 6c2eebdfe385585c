"""Checks of a map before it is written: its starts, zones and teleporter exits must be usable."""

from collections.abc import Iterator

from vast.envs.doom.geometry import box_meets, crossing, inside, midpoint, on_segment
from vast.envs.doom.layout import Kind, Layout
from vast.envs.doom.maze import (
    PLAYER_RADIUS,
    TERMINAL_KINDS,
    UNIT,
    MazeMap,
    Point,
    Start,
    Zone,
    units,
)


def check_map(map_: MazeMap, layout: Layout) -> None:
    """Raise a `MazeError` for the first unusable start, zone or exit."""
    if not map_.starts:
        raise map_.place.error(f"map {map_.name} must have a start: the engine would crash")
    for i, zone in enumerate(map_.zones):
        _check_zone(zone, map_.zones[:i], layout)
    for start in map_.starts:
        _check_start(start, map_.zones, layout)
    for line in layout.lines:
        middle = midpoint((line.start, line.end))
        if line.kind is Kind.EXIT and not _room_for_player(middle, layout):
            raise line.edge.solid.place.error(
                f"the teleporter's exit must be at least {PLAYER_RADIUS} units away from walls"
            )


def _check_zone(zone: Zone, earlier: list[Zone], layout: Layout) -> None:
    for other in earlier:
        if all(zone.low[k] < other.high[k] and other.low[k] < zone.high[k] for k in (0, 1)):
            raise zone.place.error(
                f"the {zone.kind} zone must not overlap the {other.kind} zone "
                f"of line {other.place.line}"
            )
    if not any(_meets(zone, room.corners) for room in layout.rooms):
        raise zone.place.error(f"the {zone.kind} zone must lie in a room")


def _check_start(start: Start, zones: list[Zone], layout: Layout) -> None:
    where = f"{units(start.at[0]):g},{units(start.at[1]):g}"
    if not any(_in_room(start.at, room.corners) for room in layout.rooms):
        raise start.place.error(f"the start must lie in a room, got {where}")
    if not _room_for_player(start.at, layout):
        raise start.place.error(
            f"the start must be at least {PLAYER_RADIUS} units away from walls, got {where}"
        )
    for zone in zones:
        if zone.kind in TERMINAL_KINDS and zone.contains(start.at):
            raise start.place.error(
                f"the start must lie outside of the {zone.kind} zone of line {zone.place.line}, "
                f"got {where}: the episode would end before it begins"
            )


def _in_room(at: Point, corners: tuple[Point, ...]) -> bool:
    sides = zip(corners, corners[1:] + corners[:1], strict=True)
    return inside(at, corners) or any(on_segment(at, segment) for segment in sides)


def _room_for_player(at: Point, layout: Layout) -> bool:
    radius = PLAYER_RADIUS * UNIT
    low, high = (at[0] - radius, at[1] - radius), (at[0] + radius, at[1] + radius)
    return not any(
        box_meets(low, high, (line.start, line.end)) for line in layout.lines if line.blocks
    )


def _meets(zone: Zone, corners: tuple[Point, ...]) -> bool:
    """Tell whether a zone and a room overlap."""
    if inside(midpoint((zone.low, zone.high)), corners) or any(
        zone.contains(corner) for corner in corners
    ):
        return True
    return any(
        crossing(side, edge) or inside(side[0], corners)
        for side in _sides(zone)
        for edge in zip(corners, corners[1:] + corners[:1], strict=True)
    )


def _sides(zone: Zone) -> Iterator[tuple[Point, Point]]:
    (x1, y1), (x2, y2) = zone.low, zone.high
    box = [(x1, y1), (x1, y2), (x2, y2), (x2, y1)]
    yield from zip(box, box[1:] + box[:1], strict=True)
