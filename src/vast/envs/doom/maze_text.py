"""The maze format: one statement per line, parsed into a `Maze`; errors give line and column.

docs/mazes.md is the reference of the format.
"""

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import pairwise
from math import hypot
from pathlib import Path

from vast.envs.doom.maze import (
    ZONE_KINDS,
    Maze,
    MazeMap,
    Place,
    Room,
    Start,
    Teleporter,
    Wall,
    Zone,
    units,
)
from vast.envs.doom.maze_words import Line, Word
from vast.envs.doom.textures import textures
from vast.envs.doom.wad import NAME_LENGTH
from vast.errors import UserError, unknown

DIRECTIONS = {"east": 0, "north": 90, "west": 180, "south": 270}
RESERVED_NAMES = frozenset(
    ("TEXTMAP", "ENDMAP", "BEHAVIOR", "SCRIPTS", "DIALOGUE", "ZNODES", "ZMAPINFO", "MAPINFO")
)
"""lump names with a special meaning in a WAD"""


@dataclass(frozen=True)
class Look:
    """The appearance of a room, where its own line does not give it."""

    floor: str = "FLOOR0_1"
    ceiling: str = "CEIL3_1"
    light: int = 255
    walls: str | None = None


class Reader:
    """Reads the statements of one file in order."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._look = Look()
        self._named: set[str] = set()
        self._common = MazeMap("", Place(file, 1, 1))
        self._maps: dict[str, MazeMap] = {}
        self._current = self._common
        self._statements: dict[str, Callable[[Line, Place], None]] = {
            "map": self._map,
            "default": self._default,
            "room": self._room,
            "wall": self._wall,
            "invisible": self._invisible,
            "teleporter": self._teleporter,
            "start": self._start,
            "starts": self._starts,
            "zone": self._zone,
        }

    def read(self, text: str) -> Maze:
        """Read the whole text."""
        for number, raw in enumerate(text.splitlines(), start=1):
            code = raw.split("#", 1)[0]
            words = [
                Word(match.group(), Place(self._file, number, match.start() + 1))
                for match in re.finditer(r"\S+", code)
            ]
            if words:
                end = Place(self._file, number, len(code.rstrip()) + 1)
                self._statement(Line(words, end))
        if not self._maps:
            raise Place(self._file, 1, 1).error(
                "the file must have a map: write `map NAME` above its starts"
            )
        return Maze(self._file, self._maps, frozenset(self._named))

    def _statement(self, line: Line) -> None:
        word = line.take("a statement")
        verb = word.text.lower()
        if verb not in self._statements:
            raise word.place.error(str(unknown("statement", word.text, self._statements)))
        self._statements[verb](line, word.place)
        line.finish()

    def _map(self, line: Line, place: Place) -> None:
        word = line.take("a map name")
        name = word.text.upper()
        if len(name) > NAME_LENGTH:
            raise word.place.error(
                f"map name must have at most {NAME_LENGTH} characters, got {word.text!r}"
            )
        if not re.fullmatch(r"[A-Z][A-Z0-9_]*", name):
            raise word.place.error(
                "map name must be letters, digits and _, beginning with a letter, "
                f"got {word.text!r}"
            )
        taken = textures().lump_names | RESERVED_NAMES
        if name in taken and not re.fullmatch(r"MAP\d\d", name):
            raise word.place.error(
                f"map name must not have a meaning of its own in the engine, got {name!r}"
            )
        if name in self._maps:
            raise word.place.error(f"map names must be different, got {name!r} again")
        common = self._common
        self._current = self._maps[name] = MazeMap(
            name, place, list(common.solids), list(common.starts), list(common.zones)
        )

    def _default(self, line: Line, place: Place) -> None:
        if not line.more():
            raise line.place.error(
                "default must be followed by floor FLAT, ceiling FLAT, light NUMBER or "
                "walls TEXTURE"
            )
        self._look = self._read_look(line)

    def _room(self, line: Line, place: Place) -> None:
        corners = line.points()
        if len(corners) < 2:
            raise line.place.error(
                "a room must have two opposite corners, or three or more corners in order"
            )
        if len(corners) == 2:
            (x1, y1), (x2, y2) = corners
            corners = [(x1, y1), (x1, y2), (x2, y2), (x2, y1)]
        look = self._read_look(line)
        room = Room(tuple(corners), look.floor, look.ceiling, look.light, look.walls, place)
        self._current.solids.append(room)

    def _read_look(self, line: Line) -> Look:
        look = self._look
        while line.more():
            word = line.take("an option")
            match word.text.lower():
                case "floor":
                    look = replace(look, floor=self._flat(line))
                case "ceiling":
                    look = replace(look, ceiling=self._flat(line))
                case "light":
                    look = replace(look, light=line.whole("light", 0, 255))
                case "walls":
                    look = replace(look, walls=self._texture(line))
                case _:
                    allowed = ("floor", "ceiling", "light", "walls")
                    raise word.place.error(str(unknown("option", word.text, allowed)))
        return look

    def _wall(self, line: Line, place: Place) -> None:
        corners = line.points()
        if len(corners) < 2 or any(a == b for a, b in pairwise(corners)):
            raise line.place.error(
                "a wall must have two or more points, each different from the previous one"
            )
        right = left = None
        if line.keyword("texture"):
            right = left = self._texture(line)
            if line.more():
                left = self._texture(line)
        self._current.solids.append(Wall(tuple(corners), True, right, left, place))

    def _invisible(self, line: Line, place: Place) -> None:
        self._current.solids.append(Wall(line.segment(), False, None, None, place))

    def _teleporter(self, line: Line, place: Place) -> None:
        entry = line.segment()
        line.expect("to")
        way_out = line.segment()
        texture = self._texture(line) if line.keyword("texture") else None
        self._current.solids.append(Teleporter(entry, way_out, texture, place))

    def _start(self, line: Line, place: Place) -> None:
        at = line.point()
        line.expect("facing")
        self._current.starts.append(Start(at, self._angle(line), place))

    def _starts(self, line: Line, place: Place) -> None:
        first = line.point()
        line.expect("to")
        last = line.point()
        line.expect("every")
        here = line.place
        gap = line.number("a distance")
        line.expect("facing")
        angle = self._angle(line)
        turn = line.whole("turning", -360, 360) if line.keyword("turning") else 0
        length = hypot(units(last[0] - first[0]), units(last[1] - first[1]))
        count = round(length / float(gap)) if gap > 0 else 0
        if count < 1 or abs(count * float(gap) - length) > 1e-6:
            raise here.error(f"every must divide the length of the row, {length:g}, got {gap}")
        for i in range(count + 1):
            x, y = (a + (b - a) * i // count for a, b in zip(first, last, strict=True))
            self._current.starts.append(Start((x, y), (angle + turn * i) % 360, place))

    def _zone(self, line: Line, place: Place) -> None:
        word = line.take(f"a kind of zone ({', '.join(ZONE_KINDS)})")
        kind = word.text.lower()
        if kind not in ZONE_KINDS:
            raise word.place.error(str(unknown("zone", word.text, ZONE_KINDS)))
        (x1, y1), (x2, y2) = line.point(), line.point()
        low, high = (min(x1, x2), min(y1, y2)), (max(x1, x2), max(y1, y2))
        if low[0] == high[0] or low[1] == high[1]:
            raise place.error("a zone must have an area: give two opposite corners")
        self._current.zones.append(Zone(kind, low, high, place))

    def _angle(self, line: Line) -> int:
        direction = line.keyword(*DIRECTIONS)
        if direction:
            return DIRECTIONS[direction]
        return line.whole("a heading (east, north, west, south or degrees)", -360, 360) % 360

    def _texture(self, line: Line) -> str:
        """Take the name of an opaque wall texture that is not animated."""
        word = line.take("a texture")
        name = _known(word, {*textures().walls, *textures().flats}, "texture")
        if not textures().is_opaque(name):
            raise word.place.error(f"texture must be opaque, got {name!r}, which is see-through")
        self._named.add(name)
        return name

    def _flat(self, line: Line) -> str:
        """Take the name of a flat, a texture of floors and ceilings."""
        return _known(line.take("a flat"), textures().flats, "flat")


def _known(word: Word, names: Collection[str], kind: str) -> str:
    name = word.text.upper()
    if len(name) > NAME_LENGTH:
        raise word.place.error(
            f"{kind} name must have at most {NAME_LENGTH} characters, got {word.text!r}"
        )
    if name not in names:
        near = get_close_matches(name, names, n=3, cutoff=0.5)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        raise word.place.error(f"unknown {kind} {word.text!r}: must be one of Freedoom's{hint}")
    if name in textures().animated:
        raise word.place.error(f"{kind} must not be animated, got {name!r}")
    return name


def parse_maze(text: str, file: str = "maze") -> Maze:
    """Parse the text of a maze; `file` is its name in errors."""
    return Reader(file).read(text)


def read_maze(path: str | Path) -> Maze:
    """Read a maze file."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise UserError(f"cannot read the maze {path}: {reason}") from error
    return parse_maze(text, str(path))
