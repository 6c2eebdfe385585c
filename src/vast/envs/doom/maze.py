"""What a maze is made of: rooms, walls, teleporters, starts and zones, and where each was written.

Coordinates are kept as the engine keeps them, as integers in 1/65536 of a map unit, so that every
geometric test on them is exact.
"""

from dataclasses import dataclass, field
from itertools import pairwise

from vast.errors import UserError

UNIT = 65536
"""steps of the engine's fixed-point numbers per map unit"""
PLAYER_RADIUS = 16
"""the player is a square box of this half size; it comes no nearer to a wall"""

ZONE_KINDS = ("goal", "penalty", "hazard")
"""what a zone can mean to a task; see `vast.envs.doom.rules`"""
TERMINAL_KINDS = ("goal", "penalty")
"""zones that end an episode"""

Point = tuple[int, int]
"""(x, y) in 1/65536 units; x grows to the east, y to the north"""


def units(value: int) -> float:
    """Return a fixed-point coordinate in map units."""
    return value / UNIT


@dataclass(frozen=True)
class Place:
    """Where in which file something was written."""

    file: str
    line: int
    column: int

    def error(self, message: str) -> "MazeError":
        """Return the error that points here."""
        return MazeError(f"{self.file}:{self.line}:{self.column}: {message}")


class MazeError(UserError):
    """Something in a maze file that the engine would crash on, hang on or silently ignore."""


@dataclass(frozen=True)
class Room:
    """An area of floor; its outline is solid wall where no other room adjoins."""

    corners: tuple[Point, ...]
    floor: str
    ceiling: str
    light: int
    walls: str | None
    """one texture for all its walls; None: automatic ones, each different"""
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
    """texture to the right of someone walking along it; None: automatic"""
    left: str | None
    place: Place

    def edges(self) -> list[tuple[Point, Point]]:
        """Return the straight pieces in order."""
        return list(pairwise(self.corners))


@dataclass(frozen=True)
class Teleporter:
    """A piece of outer wall that can be run through, and the line where one comes out."""

    entry: tuple[Point, Point]
    exit: tuple[Point, Point]
    """one comes out to the right of someone walking along this line"""
    texture: str | None
    place: Place


@dataclass(frozen=True)
class Start:
    """A place where an episode may begin, and the heading in degrees (0 east, 90 north)."""

    at: Point
    angle: int
    place: Place


@dataclass(frozen=True)
class Zone:
    """A rectangle with a meaning for the task; being in it means strictly inside."""

    kind: str
    low: Point
    high: Point
    place: Place

    def contains(self, at: Point) -> bool:
        """Tell whether a point lies strictly inside."""
        return self.low[0] < at[0] < self.high[0] and self.low[1] < at[1] < self.high[1]


Solid = Room | Wall | Teleporter
"""what has wall faces"""


@dataclass
class MazeMap:
    """One map of a maze file: what the engine loads by one name."""

    name: str
    place: Place
    solids: list[Solid] = field(default_factory=list)
    starts: list[Start] = field(default_factory=list)
    zones: list[Zone] = field(default_factory=list)

    @property
    def rooms(self) -> list[Room]:
        """The rooms in the order they were written."""
        return [solid for solid in self.solids if isinstance(solid, Room)]

    @property
    def teleporters(self) -> list[Teleporter]:
        """The teleporters in the order they were written."""
        return [solid for solid in self.solids if isinstance(solid, Teleporter)]


@dataclass
class Maze:
    """A maze file: one or more maps, which may share rooms, walls, starts and zones."""

    file: str
    maps: dict[str, MazeMap]
    named_textures: frozenset[str]
    """textures the file names; the automatic ones are others"""
