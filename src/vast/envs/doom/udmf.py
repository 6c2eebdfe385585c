"""Writes a maze as a WAD of UDMF text maps; the engine builds the nodes when it loads a map."""

from collections.abc import Iterator
from pathlib import Path

from vast.envs.doom.checks import check_map
from vast.envs.doom.faces import TexturePool, paint
from vast.envs.doom.layout import Face, Kind, Layout, MapLine, lay_out
from vast.envs.doom.maze import Maze, MazeMap, Point, units
from vast.envs.doom.rules import ZONE_LUMP, zone_text
from vast.envs.doom.wad import wad_bytes
from vast.files import atomic_write

CEILING = 128
"""height of all rooms in map units"""
TELEPORT_LINE = 215
"""ZDoom's silent line-to-line teleport: keeps the speed, and rotates it by the lines' angle"""
PLAYER_START = 1
"""type number of the thing that marks the start of player 1"""
EVERYWHERE = " ".join(
    f"{when} = true;"
    for when in (*(f"skill{i}" for i in range(1, 6)), "single", "coop", "dm", "class1")
)


def lay_out_maze(maze: Maze) -> tuple[dict[str, Layout], TexturePool]:
    """Return the checked layout of every map, with textures, and the pool they come from."""
    pool = TexturePool(maze.named_textures)
    layouts = {}
    for name, map_ in maze.maps.items():
        layout = lay_out(map_)
        check_map(map_, layout)
        paint(layout, pool)
        layouts[name] = layout
    return layouts, pool


def maze_wad(maze: Maze) -> bytes:
    """Return the WAD of a maze: its maps, and its zones in a lump that the engine ignores."""
    return _wad(maze, lay_out_maze(maze)[0])


def write_maze(maze: Maze, path: str | Path) -> int:
    """Write the WAD of a maze to a file; return how many walls had to repeat a texture."""
    layouts, pool = lay_out_maze(maze)
    with atomic_write(Path(path)) as unfinished:
        unfinished.write_bytes(_wad(maze, layouts))
    return pool.repeats


def _wad(maze: Maze, layouts: dict[str, Layout]) -> bytes:
    lumps: list[tuple[str, bytes]] = []
    for name, layout in layouts.items():
        text = "\n".join(_text_map(maze.maps[name], layout)) + "\n"
        lumps += [(name, b""), ("TEXTMAP", text.encode("ascii")), ("ENDMAP", b"")]
    # Without this flag the engine puts a visible, solid copy of the player on every other start.
    info = "".join(f'map {name} "{name}" {{\n  RandomPlayerStarts\n}}\n' for name in maze.maps)
    lumps.append(("ZMAPINFO", info.encode("ascii")))
    zones = zone_text(maze)
    if zones:
        lumps.append((ZONE_LUMP, zones.encode("ascii")))
    return wad_bytes(lumps)


def _text_map(map_: MazeMap, layout: Layout) -> Iterator[str]:
    yield 'namespace = "zdoom";'
    vertices: dict[Point, int] = {}
    faces: list[Face] = []
    for line in layout.lines:
        ends = [vertices.setdefault(end, len(vertices)) for end in (line.start, line.end)]
        yield f"linedef {{ v1 = {ends[0]}; v2 = {ends[1]}; {_line_fields(line, len(faces))} }}"
        faces += [line.front] if line.back is None else [line.front, line.back]
    for x, y in vertices:
        yield f"vertex {{ x = {units(x):.6f}; y = {units(y):.6f}; }}"
    for face in faces:
        texture = f' texturemiddle = "{face.texture}";' if face.texture else ""
        offset = f" offsetx = {face.offset};" if face.offset else ""
        yield f"sidedef {{ sector = {face.room};{texture}{offset} }}"
    for room in layout.rooms:
        yield (
            f"sector {{ heightfloor = 0; heightceiling = {CEILING}; lightlevel = {room.light}; "
            f'texturefloor = "{room.floor}"; textureceiling = "{room.ceiling}"; }}'
        )
    for start in map_.starts:
        east, north = (units(value) for value in start.at)
        yield (
            f"thing {{ x = {east:.6f}; y = {north:.6f}; angle = {start.angle}; "
            f"type = {PLAYER_START}; {EVERYWHERE} }}"
        )


def _line_fields(line: MapLine, first_face: int) -> str:
    fields = [f"sidefront = {first_face};"]
    if line.back is not None:
        fields.append(f"sideback = {first_face + 1}; twosided = true;")
        if line.visible:
            fields.append("wrapmidtex = true;")
    if line.blocks:
        fields.append("blocking = true;")
    # Lines are found by id: a teleporter has an odd one, its exit the even one after it.
    if line.kind is Kind.TELEPORTER:
        entry, way_out = 2 * line.tag - 1, 2 * line.tag
        fields.append(
            f"id = {entry}; special = {TELEPORT_LINE}; arg0 = {entry}; arg1 = {way_out}; "
            "playercross = true; repeatspecial = true;"
        )
    elif line.kind is Kind.EXIT:
        fields.append(f"id = {2 * line.tag};")
    return " ".join(fields)
