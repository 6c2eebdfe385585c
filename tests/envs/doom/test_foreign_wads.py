"""Any WAD works with any task's rules; one that would crash or hang the engine is refused."""

import logging
import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from tests.envs.doom.mazes import LargeMaze, PlusMaze, TMaze

from vast.envs.doom.maze_text import parse_maze
from vast.envs.doom.udmf import maze_wad
from vast.envs.doom.wad import Wad, wad_bytes
from vast.envs.doom.wad_maps import maps_in
from vast.envs.doom.world import World
from vast.errors import UserError

CORNERS = [(-256, -256), (-256, 256), (256, 256), (256, -256)]
"""clockwise, so that the room is to the right of each side"""
Thing = tuple[int, int, int, int]
"""type, x, y, angle"""
Lumps = list[tuple[str, bytes]]


def name8(text: str) -> bytes:
    return text.encode("ascii").ljust(8, b"\0")


def binary_map(name: str, things: Sequence[Thing], hexen: bool = False) -> Lumps:
    """Return the lumps of a map in Doom's or Hexen's format; the engine builds the nodes."""
    if hexen:
        records = [struct.pack("<hhhhhhh6x", 0, x, y, 0, a, t, 0x7FF) for t, x, y, a in things]
        lines = [struct.pack("<HHH6xHH", i, (i + 1) % 4, 1, i, 0xFFFF) for i in range(4)]
    else:
        records = [struct.pack("<hhhhh", x, y, a, t, 7) for t, x, y, a in things]
        lines = [struct.pack("<HHHHHHH", i, (i + 1) % 4, 1, 0, 0, i, 0xFFFF) for i in range(4)]
    side = struct.pack("<hh", 0, 0) + name8("-") * 2 + name8("REDWALL1") + struct.pack("<H", 0)
    sector = struct.pack("<hh", 0, 128) + name8("FLAT20") * 2 + struct.pack("<HHH", 255, 0, 0)
    lumps = [
        (name, b""),
        ("THINGS", b"".join(records)),
        ("LINEDEFS", b"".join(lines)),
        ("SIDEDEFS", side * 4),
        ("VERTEXES", b"".join(struct.pack("<hh", *corner) for corner in CORNERS)),
        *((empty, b"") for empty in ("SEGS", "SSECTORS", "NODES")),
        ("SECTORS", sector),
        *((empty, b"") for empty in ("REJECT", "BLOCKMAP")),
    ]
    return [*lumps, ("BEHAVIOR", b"")] if hexen else lumps


def udmf_map(name: str, things: Sequence[Thing]) -> Lumps:
    """Return the lumps of a map in UDMF, with unusual but valid formatting."""
    text = 'NAMESPACE="ZDoom"; // made by hand\n/* thing { type = 1; } */\n'
    text += "".join(f"vertex\n{{\nx={x}.0;\ny={y};\n}}\n" for x, y in CORNERS)
    text += "".join(
        f"linedef {{ v1={i}; v2={(i + 1) % 4}; sidefront=0; blocking=true; }}\n" for i in range(4)
    )
    text += 'sidedef { sector=0; texturemiddle="REDWALL1"; }\n'
    text += 'sector { texturefloor="FLAT20"; textureceiling="FLAT20"; heightceiling=128; }\n'
    flags = "".join(f"skill{i}=true; " for i in range(1, 6)) + "single=true; dm=true; class1=true;"
    text += "".join(
        f"Thing {{ Type = {t}; x={x}; y={y}; angle={a}; {flags} }}\n" for t, x, y, a in things
    )
    return [(name, b""), ("TEXTMAP", text.encode("ascii")), ("ENDMAP", b"")]


def random_starts(*names: str) -> Lumps:
    """Return the lump that makes the engine use every player-1 start."""
    text = "".join(f'map {name} "{name}" {{ RandomPlayerStarts }}\n' for name in names)
    return [("MAPINFO", text.encode("ascii"))]


def wad(*lumps: Lumps) -> bytes:
    return wad_bytes([lump for part in lumps for lump in part])


STARTS = [(1, -128, 64, 90), (1, 128, -64, 270)]
DEATHMATCH = [(11, -128, 64, 90), (11, 128, -64, 270)]


@pytest.mark.parametrize("start_type", [1, 11])
@pytest.mark.parametrize("format_", ["doom", "hexen", "udmf"])
def test_every_format_and_kind_of_start_can_be_played(
    tmp_path: Path, format_: str, start_type: int
) -> None:
    things = [(start_type, x, y, a) for _, x, y, a in STARTS]
    lumps = udmf_map("MINE", things)
    if format_ != "udmf":
        lumps = binary_map("MINE", things, hexen=format_ == "hexen")
    path = tmp_path / "mine.wad"
    path.write_bytes(wad(lumps, random_starts("MINE")))
    facts = maps_in(Wad.open(path))["MINE"]
    assert facts.format == format_
    assert (facts.player_starts, facts.deathmatch_starts) == ((2, 0) if start_type == 1 else (0, 2))
    assert facts.deathmatch == (start_type == 11)
    env = TMaze(wad=path, map_name="mine")
    places = {tuple(env.reset(seed=seed)[1][key] for key in ("x", "y")) for seed in range(8)}
    assert places == {(-128, 64), (128, -64)}
    info = env.reset(seed=0, options={"start": (0.5, 10.25, 33)})[1]
    assert (info["x"], info["y"]) == (0.5, 10.25)
    assert info["angle"] == pytest.approx(33, abs=0.003)
    for _ in range(15):
        _, reward, _, _, info = env.step(np.int64(0))
        assert reward == -0.01
    assert info["x"] == pytest.approx(240, abs=0.1)
    assert info["map"] == "MINE"
    assert len(env.floor_plan().walls) == 4
    with pytest.raises(UserError, match="start must be inside the map MINE"):
        env.reset(options={"start": (300, 0, 0)})
    env.close()


@pytest.mark.parametrize("texture", ["REDWALL1", "-"])
@pytest.mark.parametrize(("flags", "is_wall"), [(1, True), (4, False), (5, True)])
@pytest.mark.parametrize("hexen", [False, True])
def test_a_line_with_a_floor_on_both_sides_is_a_wall_if_it_blocks(
    hexen: bool, flags: int, is_wall: bool, texture: str
) -> None:
    lumps = dict(binary_map("MINE", STARTS, hexen))
    lumps["LINEDEFS"] += struct.pack("<HHH6xHH" if hexen else "<HHH4xHH", 0, 2, flags, 4, 4)
    lumps["SIDEDEFS"] += lumps["SIDEDEFS"][:20] + name8(texture) + bytes(2)
    mine = Wad(wad(list(lumps.items())), "mine.wad")
    world = World(b"", mine, maps_in(mine), {}, [])
    plan = world.floor_plan("MINE")
    across = (-256, -256, 256, 256)
    assert (across in plan.walls) == (is_wall and texture != "-")
    assert (across in plan.unseen) == (is_wall and texture == "-")
    assert len(plan.walls) == 4 + (across in plan.walls)


def test_a_wad_without_zones_has_those_of_the_task(tmp_path: Path) -> None:
    path = tmp_path / "mine.wad"
    path.write_bytes(wad(binary_map("MINE", [(1, 100, 0, 180)])))
    env = LargeMaze(wad=path)
    env.reset(seed=0, options={"start": (100, 0, 180)})
    outcomes = [env.step(np.int64(0))[1:3] for _ in range(3)]
    assert outcomes == [(-0.01, False), (-0.01, False), (1.0, True)]
    env.close()


@pytest.mark.slow
def test_a_map_that_only_begins_in_zones_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.wad"
    path.write_bytes(wad(binary_map("MINE", [(1, 0, 0, 180)])))
    env = LargeMaze(rules=NO_SCATTER, wad=path)
    with pytest.raises(UserError, match="map MINE must have a start outside of zones"):
        env.reset(seed=0)
    env.close()


NO_SCATTER = {"living_reward": -0.01, "turn_steps": 0, "random_steps": 0}
"""the large maze's rules without random first actions"""


MY_MAZE = "room 0,0 512,256\nzone goal 400,0 512,256\nmap MINE\nstart 64,128 facing east\n"


@pytest.mark.parametrize("built", [False, True])
def test_a_users_maze_has_its_own_zones(tmp_path: Path, built: bool) -> None:
    path = tmp_path / ("mine.wad" if built else "mine.maze")
    path.write_bytes(maze_wad(parse_maze(MY_MAZE)) if built else MY_MAZE.encode())
    env = PlusMaze(wad=path)
    env.reset(seed=0, options={"start": (64, 128, 0)})
    for _ in range(12):
        _, reward, terminated, _, info = env.step(np.int64(0))
        if terminated:
            break
    assert (reward, info["event"], info["map"]) == (1.0, "goal", "MINE")
    assert 400 < info["x"] < 470
    env.close()


def test_several_starts_without_the_flag_give_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "mine.wad"
    path.write_bytes(wad(binary_map("MINE", STARTS)))
    with caplog.at_level(logging.WARNING):
        TMaze(wad=path)
    assert "RandomPlayerStarts" in caplog.text


@pytest.mark.parametrize(
    ("data", "map_name", "message"),
    [
        (wad(binary_map("MINE", [(3001, 0, 0, 0)])), None, "map MINE of .* must have a start"),
        (wad(udmf_map("MINE", [])), None, "map MINE of .* must have a start"),
        (wad(binary_map("MINE", STARTS)), "MAP01", "map of .* 'MAP01': must be one of MINE"),
        (wad([("README", b"no map")]), None, "must contain a map"),
        (b"", None, "is empty"),
        (b"hello", None, "must begin with IWAD or PWAD"),
        (wad(binary_map("MINE", STARTS))[:-40], None, "damaged WAD"),
        (wad([("MINE", b""), ("THINGS", b"odd")]), None, "damaged WAD: a THINGS lump has 3"),
    ],
)
def test_a_wad_that_would_crash_the_engine_is_refused(
    tmp_path: Path, data: bytes, map_name: str | None, message: str
) -> None:
    path = tmp_path / "mine.wad"
    path.write_bytes(data)
    with pytest.raises(UserError, match=message):
        TMaze(wad=path, map_name=map_name)


def test_a_missing_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"cannot read the WAD .*No such file"):
        TMaze(wad=tmp_path / "none.wad")


def test_the_map_may_be_switched_between_kinds_of_start(tmp_path: Path) -> None:
    path = tmp_path / "mine.wad"
    both: list[Lumps] = [binary_map("ALONE", [(1, 9, 9, 0)]), binary_map("FIGHT", DEATHMATCH)]
    path.write_bytes(wad(*both))
    env = TMaze(wad=path)
    assert env.reset(seed=0)[1]["x"] == 9
    env.set_map("FIGHT")
    assert abs(env.reset()[1]["x"]) == 128
    env.set_map("ALONE")
    assert env.reset()[1]["x"] == 9
    env.close()
