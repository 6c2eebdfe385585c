"""The WAD of a task: built from the package's maze, or the user's own maze file or WAD."""

import logging
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from vast.envs.doom.maze_text import parse_maze, read_maze
from vast.envs.doom.rules import ZONE_LUMP, Area, read_zones
from vast.envs.doom.udmf import maze_wad
from vast.envs.doom.wad import Wad
from vast.envs.doom.wad_maps import (
    Line,
    MapFacts,
    Segment,
    chosen_map,
    in_map,
    lines_of,
    maps_in,
    outline,
)
from vast.errors import UserError

log = logging.getLogger(__name__)

SHIPPED = files("vast.envs.doom") / "mazes"


@dataclass(frozen=True)
class FloorPlan:
    """The walls and zones of a map, for drawing it from above."""

    walls: list[Segment]
    """visible walls"""
    unseen: list[Segment]
    """invisible walls"""
    areas: list[Area]
    """zones"""


@dataclass(frozen=True)
class World:
    """A WAD, its maps, and their zones."""

    source: bytes | str
    """the WAD built from text, or the path of the user's own WAD"""
    wad: Wad
    maps: dict[str, MapFacts]
    zones: dict[str, list[Area]]
    other_zones: list[Area]
    """for a WAD without zones: those of the task's maze"""

    def facts(self, map_name: str | None) -> MapFacts:
        """Return the facts of a map, the first one by default; it must have a start."""
        return chosen_map(self.wad, self.maps, map_name)

    def areas(self, map_name: str) -> list[Area]:
        """Return the zones of a map."""
        return self.zones.get(map_name, []) if self.zones else self.other_zones

    def floor_plan(self, map_name: str) -> FloorPlan:
        """Return a map's walls and zones."""
        walls = [line for line in self._lines(map_name) if line.is_edge or line.is_blocking]
        seen = [line.segment for line in walls if line.is_edge or line.has_texture]
        unseen = [line.segment for line in walls if not (line.is_edge or line.has_texture)]
        return FloorPlan(seen, unseen, self.areas(map_name))

    def contains(self, map_name: str, x: float, y: float) -> bool:
        """Tell whether a position is inside a map."""
        return in_map(outline(self._lines(map_name)), x, y)

    def _lines(self, map_name: str) -> list[Line]:
        return lines_of(self.wad, self.maps[map_name])


def open_world(maze: str | None, wad: str | Path | None = None) -> World:
    """Open the world of a task: its own maze, if it has one, or a WAD or .maze file."""
    if wad is not None and Path(wad).suffix == ".maze":
        return _built(maze_wad(read_maze(wad)), str(wad))
    zones: list[Area] = []
    if maze is not None:
        text = (SHIPPED / f"{maze}.maze").read_text(encoding="utf-8")
        shipped = _built(maze_wad(parse_maze(text, f"{maze}.maze")), f"{maze}.maze")
        if wad is None:
            return shipped
        zones = shipped.areas(next(iter(shipped.maps)))
    if wad is None:
        raise UserError("wad must be a .maze file or a WAD, got None")
    return _world(str(Path(wad).absolute()), Wad.open(wad), zones)


def _built(data: bytes, name: str) -> World:
    return _world(data, Wad(data, name), [])


def _world(source: bytes | str, wad: Wad, other_zones: list[Area]) -> World:
    maps = maps_in(wad)
    for facts in maps.values():
        if facts.player_starts > 1 and not facts.random_starts:
            log.warning(
                "map %s of %s has %d starts but no RandomPlayerStarts in a MAPINFO lump: the "
                "engine uses one, and shows a solid copy of the player on the others",
                facts.name,
                wad.name,
                facts.player_starts,
            )
    text = wad.bytes_of(ZONE_LUMP).decode("ascii", "replace") if ZONE_LUMP in wad else ""
    return World(source, wad, maps, read_zones(text, wad.name), other_zones)
