"""The parts of a maze: rooms, walls, teleporters, starts and zones, each with its line in the file.

Coordinates are stored as in the engine, as integers in 1/65536 of a map unit, so that every
geometric test is exact.
"""

from dataclasses import dataclass, field
from itertools import pairwise

from vast.errors import UserError

UNIT = 65536
"""fixed-point steps per map unit"""
PLAYER_RADIUS = 16
"""half the side of the player's square box, its smallest distance from a wall"""

ZONE_KINDS = ("goal", "penalty", "hazard")
"""the kinds of zones; see `vast.envs.doom.rules`"""
TERMINAL_KINDS = ("goal", "penalty")
"""zones that end an episode"""

Point = tuple[int, int]
"""(x, y) in 1/65536 units; x increases to the east, y to the north"""


def units(value: int) -> float:
    """Return a fixed-point coordinate in map units."""
    return value / UNIT


@dataclass(frozen=True)
class Place:
    """A place in a maze file."""

    file: str
    line: int
    column: int

    def error(self, message: str) -> "MazeError":
        """Return an error at this place."""
        return MazeError(f"{self.file}:{self.line}:{self.column}: {message}")


class MazeError(UserError):
    """An error in a maze file, which would make the engine crash, hang or silently ignore it."""


@dataclass(frozen=True)
class Room:
    """An area of floor; its outline is a solid wall except where another room touches it."""

    corners: tuple[Point, ...]
    floor: str
    ceiling: str
    light: int
    walls: str | None
    """one texture for all its walls; None: automatic, a different one for each wall"""
    place: Place

    def edges(self) -> list[tuple[Point, Point]]:
        """Return the sides of the outline in order."""
        return list(zip(self.corners, self.corners[1:] + self.corners[:1], strict=True))


@dataclass(frozen=True)
class Wall:
    """A wall without thickness, through the given corners."""

    corners: tuple[Point, ...]
    visible: bool
    right: str | None
    """texture on its right, seen along the wall; None: automatic"""
    left: str | None
    place: Place

    def edges(self) -> list[tuple[Point, Point]]:
        """Return the straight pieces in order."""
        return list(pairwise(self.corners))


@dataclass(frozen=True)
class Teleporter:
    """A piece of outer wall that the player can run through, and the line where it comes out."""

    entry: tuple[Point, Point]
    exit: tuple[Point, Point]
    """the player comes out on the right of this line"""
    texture: str | None
    place: Place


@dataclass(frozen=True)
class Start:
    """A position where an episode may begin, and the heading in degrees (0 east, 90 north)."""

    at: Point
    angle: int
    place: Place


@dataclass(frozen=True)
class Zone:
    """A rectangle with a meaning for the task; its boundary is not part of it."""

    kind: str
    low: Point
    high: Point
    place: Place

    def contains(self, at: Point) -> bool:
        """Tell whether a point lies strictly inside."""
        return self.low[0] < at[0] < self.high[0] and self.low[1] < at[1] < self.high[1]


Solid = Room | Wall | Teleporter
"""parts with wall faces"""


@dataclass
class MazeMap:
    """One map of a maze file, which the engine loads by its name."""

    name: str
    place: Place
    solids: list[Solid] = field(default_factory=list)
    starts: list[Start] = field(default_factory=list)
    zones: list[Zone] = field(default_factory=list)

    @property
    def rooms(self) -> list[Room]:
        """The rooms, in the order of the file."""
        return [solid for solid in self.solids if isinstance(solid, Room)]

    @property
    def teleporters(self) -> list[Teleporter]:
        """The teleporters, in the order of the file."""
        return [solid for solid in self.solids if isinstance(solid, Teleporter)]


@dataclass
class Maze:
    """A maze file: one or more maps, which may share rooms, walls, starts and zones."""

    file: str
    maps: dict[str, MazeMap]
    named_textures: frozenset[str]
    """textures that the file names; they are not used as automatic ones"""
