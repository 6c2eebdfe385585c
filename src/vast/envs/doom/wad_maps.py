"""The maps of any WAD: format, starts and lines, read before the engine loads the file.

The engine crashes on a map without a start, and hangs or loads another map if a name is unknown. So
both are checked here first.
"""

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from vast.envs.doom.wad import Lump, Wad
from vast.errors import UserError, unknown

THING = {"doom": struct.Struct("<6xh2x"), "hexen": struct.Struct("<10xh8x")}
"""format -> the record of a thing, of which only the type is read"""
LINE = {"doom": struct.Struct("<HHH4xHH"), "hexen": struct.Struct("<HHH6xHH")}
"""format -> the record of a line: first and second vertex, flags, front side, back side"""
SIDE = struct.Struct("<20x8s2x")
"""the record of a side, of which only the middle texture is read"""
VERTEX = struct.Struct("<hh")
NO_SIDE = 0xFFFF
BLOCKING = 1
"""the flag of a line that the player cannot cross"""
Segment = tuple[float, float, float, float]
"""x, y of one end and x, y of the other"""
MAP_LUMPS = 11
"""in the binary formats, a map is its name followed by at most this many lumps"""
PLAYER_START, DEATHMATCH_START = 1, 11
"""type numbers of the things that mark a start"""


@dataclass(frozen=True)
class MapFacts:
    """The format and the starts of a map."""

    name: str
    format: str
    """doom, hexen or udmf"""
    player_starts: int
    deathmatch_starts: int
    random_starts: bool
    """whether the WAD requests a random choice among several player starts"""

    @property
    def deathmatch(self) -> bool:
        """Whether the map can only be started as a deathmatch."""
        return self.player_starts == 0


def maps_in(wad: Wad) -> dict[str, MapFacts]:
    """Return the maps of a WAD by name."""
    random_starts = _asks_for_random_starts(wad)
    found = {}
    for i, lump in enumerate(wad.lumps[:-1]):
        parts = wad.lumps[i + 1 : i + 1 + MAP_LUMPS]
        if parts[0].name == "TEXTMAP":
            format_ = "udmf"
            things = _blocks(_udmf_text(wad, parts[0]), "thing")
            types = [int(_field(thing, "type", 0)) for thing in things]
        elif parts[0].name == "THINGS":
            format_ = "hexen" if any(part.name == "BEHAVIOR" for part in parts) else "doom"
            types = [type_ for (type_,) in _records(wad, parts[0], THING[format_])]
        else:
            continue
        found[lump.name] = MapFacts(
            lump.name,
            format_,
            types.count(PLAYER_START),
            types.count(DEATHMATCH_START),
            random_starts,
        )
    if not found:
        raise UserError(f"a WAD must contain a map, got {wad.name}")
    return found


def chosen_map(wad: Wad, maps: dict[str, MapFacts], name: str | None) -> MapFacts:
    """Return the map called `name` (the first one if None), which must have a start."""
    key = next(iter(maps)) if name is None else name.upper()
    if key not in maps:
        raise unknown(f"map of {wad.name}", str(name), maps)
    facts = maps[key]
    if not facts.player_starts and not facts.deathmatch_starts:
        raise UserError(
            f"map {key} of {wad.name} must have a start: a thing of type "
            f"{PLAYER_START} (player 1) or {DEATHMATCH_START} (deathmatch)"
        )
    return facts


class Line(NamedTuple):
    """A line of a map: whether the player can cross it, and whether it is visible."""

    segment: Segment
    is_edge: bool
    """whether there is no floor behind it"""
    is_blocking: bool
    """whether the player cannot cross it although there is a floor behind it"""
    has_texture: bool
    """whether it has a texture from floor to ceiling"""


def lines_of(wad: Wad, facts: MapFacts) -> list[Line]:
    """Return the lines of a map."""
    start = max(i for i, lump in enumerate(wad.lumps) if lump.name == facts.name)
    parts = wad.lumps[start + 1 : start + 1 + MAP_LUMPS]
    if facts.format == "udmf":
        return _lines_in_text(_udmf_text(wad, parts[0]))
    lumps = {part.name: part for part in parts}
    ends = list(_records(wad, lumps["VERTEXES"], VERTEX))
    painted = [middle.rstrip(b"\0") != b"-" for (middle,) in _records(wad, lumps["SIDEDEFS"], SIDE)]
    return [
        Line((*ends[first], *ends[second]), back == NO_SIDE, bool(flags & BLOCKING), painted[front])
        for first, second, flags, front, back in _records(
            wad, lumps["LINEDEFS"], LINE[facts.format]
        )
    ]


def _lines_in_text(text: str) -> list[Line]:
    ends = [(_field(block, "x", 0), _field(block, "y", 0)) for block in _blocks(text, "vertex")]
    painted = [
        bool(re.search(r'\btexturemiddle\s*=\s*"[^"-]', block))
        for block in _blocks(text, "sidedef")
    ]
    return [
        Line(
            (*ends[int(_field(block, "v1", 0))], *ends[int(_field(block, "v2", 0))]),
            is_edge=_field(block, "sideback", -1) < 0,
            is_blocking=bool(re.search(r"\bblocking\s*=\s*true\b", block)),
            has_texture=painted[int(_field(block, "sidefront", 0))],
        )
        for block in _blocks(text, "linedef")
    ]


def outline(lines: list[Line]) -> list[Segment]:
    """Return the lines without a floor behind them."""
    return [line.segment for line in lines if line.is_edge]


def in_map(lines: list[Segment], x: float, y: float) -> bool:
    """Tell whether a position is inside a map's outline."""
    odd = False
    for ax, ay, bx, by in lines:
        if (ay > y) != (by > y) and x < ax + (y - ay) * (bx - ax) / (by - ay):
            odd = not odd
    return odd


def _records(wad: Wad, lump: Lump, record: struct.Struct) -> Iterator[tuple[Any, ...]]:
    data = wad.bytes_of(lump)
    if len(data) % record.size:
        raise UserError(f"{wad.name} is a damaged WAD: a {lump.name} lump has {len(data)} bytes")
    return record.iter_unpack(data)


def _udmf_text(wad: Wad, textmap: Lump) -> str:
    text = wad.bytes_of(textmap).decode("utf-8", "replace").lower()
    return re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL)


def _blocks(text: str, kind: str) -> list[str]:
    return re.findall(rf"\b{kind}\s*\{{([^}}]*)\}}", text)


def _field(block: str, name: str, default: float) -> float:
    match = re.search(rf"\b{name}\s*=\s*([-+.\de]+)\s*;", block)
    return float(match.group(1)) if match else default


def _asks_for_random_starts(wad: Wad) -> bool:
    lumps = [lump for lump in wad.lumps if lump.name in ("MAPINFO", "ZMAPINFO")]
    return any(b"randomplayerstarts" in wad.bytes_of(lump).lower() for lump in lumps)
