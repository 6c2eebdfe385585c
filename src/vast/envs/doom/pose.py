"""A small WAD, loaded in addition to any other, that lets an episode begin at an exact pose.

It holds an ACS library with one ENTER script, which the engine runs in the tic in which the player
spawns, and the console variables that the script reads. So the player is at the pose as if it had
spawned there, exact to 1/65536 of a unit, in any map of any format.
"""

import struct

from vast.envs.doom.maze import UNIT
from vast.envs.doom.wad import wad_bytes

USE, X, Y, ANGLE = VARIABLES = ("vast_pose", "vast_x", "vast_y", "vast_angle")
"""console variables: whether to move the player, and where; fixed point, 65536 per full turn"""
LIBRARY = "VASTPOSE"
SCRIPT_NUMBER = 31997
"""one that no map is likely to use"""
ENTER = 4
"""the type of scripts that run when a player enters the map"""

# The few instructions of the ACS virtual machine that the script needs.
TERMINATE, PUSH_NUMBER, DROP, IF_NOT_GOTO = 1, 3, 54, 79
TAG_STRING, GET_CVAR, SET_ACTOR_ANGLE, SET_ACTOR_POSITION = 225, 255, 276, 283
HEADER_SIZE = 8


def pose_wad() -> bytes:
    """Return the WAD to load in addition to the map's."""
    variables = "".join(f"server int {name} = 0;\n" for name in VARIABLES)
    return wad_bytes(
        [
            ("CVARINFO", variables.encode("ascii")),
            ("LOADACS", LIBRARY.encode("ascii")),
            ("A_START", b""),
            (LIBRARY, _library()),
            ("A_END", b""),
        ]
    )


def pose_commands(pose: tuple[float, float, float] | None) -> list[str]:
    """Return the console commands that make the next episode begin at (x, y, degrees)."""
    if pose is None:
        return [f"{USE} 0"]
    x, y, angle = pose
    turn = round(angle / 360 * 65536) % 65536
    return [
        f"{X} {round(x * UNIT)}",
        f"{Y} {round(y * UNIT)}",
        f"{ANGLE} {turn}",
        f"{USE} 1",
    ]


def _library() -> bytes:
    """Assemble: if (vast_pose) { SetActorPosition(0, x, y, 0, 0); SetActorAngle(0, angle); }."""

    def variable(name: str) -> list[int]:
        return [PUSH_NUMBER, VARIABLES.index(name), TAG_STRING, GET_CVAR]

    zero = [PUSH_NUMBER, 0]
    move = [*zero, *variable(X), *variable(Y), *zero, *zero, SET_ACTOR_POSITION, DROP]
    turn = [*zero, *variable(ANGLE), SET_ACTOR_ANGLE]
    end = HEADER_SIZE + 4 * (len(variable(USE)) + 2 + len(move) + len(turn))
    code = [*variable(USE), IF_NOT_GOTO, end, *move, *turn, TERMINATE]
    body = struct.pack(f"<{len(code)}i", *code)
    script = struct.pack("<hHII", SCRIPT_NUMBER, ENTER, HEADER_SIZE, 0)
    chunks = _chunk(b"SPTR", script) + _chunk(b"STRL", _strings()) + _chunk(b"ALIB", b"")
    return b"ACSE" + struct.pack("<I", HEADER_SIZE + len(body)) + body + chunks


def _strings() -> bytes:
    """Return the string table: a count between two zeros, offsets, and the strings."""
    offset = 4 * (3 + len(VARIABLES))
    offsets, text = [], b""
    for name in VARIABLES:
        offsets.append(offset + len(text))
        text += name.encode("ascii") + b"\0"
    return struct.pack(f"<3I{len(offsets)}I", 0, len(VARIABLES), 0, *offsets) + text


def _chunk(name: bytes, data: bytes) -> bytes:
    return name + struct.pack("<I", len(data)) + data
