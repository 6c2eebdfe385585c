"""The maps of a WAD of any origin: their format and starts, read before the engine sees the file.

The engine crashes on a map without a start and hangs, or loads another map, when a name is
unknown; so both are looked up here first.
"""

import re
import struct
from dataclasses import dataclass

from vast.envs.doom.wad import Lump, Wad
from vast.errors import UserError, unknown

THING = {"doom": struct.Struct("<6xh2x"), "hexen": struct.Struct("<10xh8x")}
"""format -> a thing's record, of which only the type is wanted"""
MAP_LUMPS = 11
"""a map of the binary formats is its name and at most this many lumps"""
PLAYER_START, DEATHMATCH_START = 1, 11
"""type numbers of the things that mark where a player begins"""


@dataclass(frozen=True)
class MapFacts:
    """What there is to know of a map before it is loaded."""

    name: str
    format: str
    """doom, hexen or udmf"""
    player_starts: int
    deathmatch_starts: int
    random_starts: bool
    """whether the WAD asks for a random one of several player starts"""

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
            format_, types = "udmf", _udmf_types(wad, parts[0])
        elif parts[0].name == "THINGS":
            format_ = "hexen" if any(part.name == "BEHAVIOR" for part in parts) else "doom"
            types = _binary_types(wad, parts[0], THING[format_])
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
        raise UserError(f"{wad.name} holds no map")
    return found


def chosen_map(wad: Wad, maps: dict[str, MapFacts], name: str | None) -> MapFacts:
    """Return the map called `name` (the first one if None), which must have a start."""
    key = next(iter(maps)) if name is None else name.upper()
    if key not in maps:
        raise unknown(f"map of {wad.name}", str(name), maps)
    facts = maps[key]
    if not facts.player_starts and not facts.deathmatch_starts:
        raise UserError(
            f"map {key} of {wad.name} has no start: it needs a thing of type "
            f"{PLAYER_START} (player 1) or {DEATHMATCH_START} (deathmatch)"
        )
    return facts


def _binary_types(wad: Wad, things: Lump, record: struct.Struct) -> list[int]:
    data = wad.bytes_of(things)
    if len(data) % record.size:
        raise UserError(f"{wad.name} is a broken WAD: a THINGS lump has {len(data)} bytes")
    return [type_ for (type_,) in record.iter_unpack(data)]


def _udmf_types(wad: Wad, textmap: Lump) -> list[int]:
    text = wad.bytes_of(textmap).decode("utf-8", "replace").lower()
    text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL)
    things = re.findall(r"\bthing\s*\{([^}]*)\}", text)
    types = [re.search(r"\btype\s*=\s*(\d+)\s*;", thing) for thing in things]
    return [int(match.group(1)) for match in types if match]


def _asks_for_random_starts(wad: Wad) -> bool:
    lumps = [lump for lump in wad.lumps if lump.name in ("MAPINFO", "ZMAPINFO")]
    return any(b"randomplayerstarts" in wad.bytes_of(lump).lower() for lump in lumps)
