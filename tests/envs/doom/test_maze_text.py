"""The maze format: its meaning, and its errors for everything that would crash the engine."""

import pytest

from vast.envs.doom.maze import UNIT, MazeError
from vast.envs.doom.maze_text import parse_maze, read_maze
from vast.envs.doom.textures import DISTINCT_WALLS, textures
from vast.envs.doom.udmf import lay_out_maze, maze_wad
from vast.errors import UserError

ROOM = "room 0,0 512,512\n"
SMALL = ROOM + "map ONE\nstart 256,256 facing north\n"


def refusal(text: str) -> str:
    with pytest.raises(MazeError) as caught:
        maze_wad(parse_maze(text, "my.maze"))
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_a_room_and_a_start_make_a_maze() -> None:
    maze = parse_maze(SMALL)
    layouts, _ = lay_out_maze(maze)
    assert [line.kind.value for line in layouts["ONE"].lines] == ["wall"] * 4
    assert maze.maps["ONE"].starts[0].at == (256 * UNIT, 256 * UNIT)
    assert maze.maps["ONE"].starts[0].angle == 90


def test_comments_case_and_blank_lines_do_not_matter() -> None:
    text = "# a comment\n\nROOM 0,0 512,512 # another\nMap one\nStart 256,256 Facing NORTH\n"
    assert maze_wad(parse_maze(text)) == maze_wad(parse_maze(SMALL))


def test_corners_may_run_either_way_round() -> None:
    forth = "room 0,0 0,512 512,512\nmap ONE\nstart 100,400 facing 0\n"
    back = "room 512,512 0,512 0,0\nmap ONE\nstart 100,400 facing 0\n"
    for text in (forth, back):
        (layout, *_), _ = list(lay_out_maze(parse_maze(text))[0].values()), None
        for line in layout.lines:
            inward = (line.end[1] - line.start[1], line.start[0] - line.end[0])
            to_middle = (170 * UNIT - line.start[0], 341 * UNIT - line.start[1])
            assert inward[0] * to_middle[0] + inward[1] * to_middle[1] > 0


def test_a_side_shared_by_two_rooms_is_open_where_they_touch() -> None:
    text = "room 0,0 128,512\nroom 128,128 640,256\nmap ONE\nstart 64,64 facing 0\n"
    layouts, _ = lay_out_maze(parse_maze(text))
    open_lines = [line for line in layouts["ONE"].lines if line.kind.value == "passage"]
    assert [{line.start[1] // UNIT, line.end[1] // UNIT} for line in open_lines] == [{128, 256}]


def test_a_row_of_starts_has_even_gaps_and_turns() -> None:
    text = ROOM + "map ONE\nstarts 64,64 to 192,64 every 64 facing south turning 45\n"
    starts = parse_maze(text).maps["ONE"].starts
    assert [(s.at[0] // UNIT, s.at[1] // UNIT, s.angle) for s in starts] == [
        (64, 64, 270),
        (128, 64, 315),
        (192, 64, 0),
    ]


def test_every_wall_has_its_own_texture_and_ends_at_a_corner() -> None:
    text = ROOM + "wall 256,0 256,256\nmap ONE\nstart 64,64 facing 0\n"
    layouts, pool = lay_out_maze(parse_maze(text))
    faces = [
        face.texture
        for line in layouts["ONE"].lines
        for face in (line.front, line.back)
        if face is not None and face.texture
    ]
    # Four outer walls, one of them cut in two by the inner wall, and the inner wall's two sides.
    assert len(faces) == len(set(faces)) == 7
    assert set(faces) <= set(DISTINCT_WALLS)
    assert pool.repeats == 0


def test_a_wall_touched_from_behind_or_by_something_invisible_keeps_one_texture() -> None:
    text = (
        ROOM
        + "wall 256,128 256,384\nwall 256,256 384,256\ninvisible 0,256 256,256\n"
        + "map ONE\nstart 64,64 facing 0\n"
    )
    layouts, _ = lay_out_maze(parse_maze(text))
    spine = [line for line in layouts["ONE"].lines if line.start[0] == line.end[0] == 256 * UNIT]
    assert len(spine) == 2
    west = [line.back for line in spine]
    assert west[0] is not None
    assert west[1] is not None
    assert west[0].texture == west[1].texture
    assert {west[0].offset, west[1].offset} == {0, 128}
    assert spine[0].front.texture != spine[1].front.texture


def test_named_textures_are_used_where_they_are_named_and_nowhere_else() -> None:
    text = (
        "room 0,0 512,512 walls STARG1\nwall 256,128 256,384 texture REDWALL1 METAL7\n"
        "wall 0,0 0,512\nmap ONE\nstart 64,64 facing 0\n"
    )
    lines = lay_out_maze(parse_maze(text))[0]["ONE"].lines
    at = {(line.start[0] // UNIT, line.end[0] // UNIT): line for line in lines}
    assert at[512, 512].front.texture == "STARG1"
    assert at[256, 256].front.texture == "REDWALL1"
    assert at[256, 256].back is not None
    assert at[256, 256].back.texture == "METAL7"
    assert at[0, 0].front.texture not in {"STARG1", "REDWALL1", "METAL7"}


def test_maps_of_one_file_share_what_stands_above_them_and_its_textures() -> None:
    text = ROOM + "map ONE\nstart 64,64 facing 0\nmap TWO\nstart 99,99 facing 0\nwall 9,9 9,99\n"
    layouts, _ = lay_out_maze(parse_maze(text))
    first, second = (
        [line.front.texture for line in layouts[name].lines[:4]] for name in ("ONE", "TWO")
    )
    assert first == second
    assert len(layouts["TWO"].lines) == 5


def test_a_teleporter_looks_like_the_wall_it_is_in() -> None:
    text = ROOM + "map ONE\nstart 256,256 facing 0\nmap TWO\nstart 256,256 facing 0\n"
    layouts, _ = lay_out_maze(parse_maze(text + "teleporter 0,512 0,0 to 400,99 400,300\n"))
    west = {
        name: next(line for line in layout.lines if line.start[0] == line.end[0] == 0)
        for name, layout in layouts.items()
    }
    assert [west[name].kind.value for name in ("ONE", "TWO")] == ["wall", "teleporter"]
    assert west["ONE"].front.texture == west["TWO"].front.texture
    # Whatever its direction in the file, the room is on its right, where the player comes from.
    assert (west["TWO"].start, west["TWO"].end) == ((0, 0), (0, 512 * UNIT))


@pytest.mark.parametrize(
    ("text", "where", "what"),
    [
        (ROOM + "map ONE\n", "2:1", "must have a start"),
        ("", "1:1", "must have a map"),
        ("map ONE\nstart 0,0 facing 0\n", "1:1", "must have a room"),
        (ROOM + "map LONGERNAME\n", "2:5", "at most 8"),
        (ROOM + "map PLAYPAL\n", "2:5", "meaning of its own"),
        (ROOM + "map A-B\n", "2:5", "letters, digits"),
        (SMALL + "map ONE\n", "4:5", "got 'ONE' again"),
        ("room 0,0 9,9 walls NOSUCH\n", "1:20", "unknown texture 'NOSUCH'"),
        ("room 0,0 9,9 walls REDWAL1\n", "1:20", "did you mean REDWALL1"),
        ("room 0,0 9,9 walls VERYLONGNAME\n", "1:20", "at most 8"),
        ("room 0,0 9,9 walls SLADRIP1\n", "1:20", "must not be animated"),
        ("room 0,0 9,9 walls BRNSMAL1\n", "1:20", "see-through"),
        ("room 0,0 9,9 floor NUKAGE1\n", "1:20", "must not be animated"),
        ("room 0,0 9,9 floor REDWALL1\n", "1:20", "unknown flat"),
        ("room 0,0 9,9 ceiling F_SKY1\n", "1:22", "unknown flat"),
        ("room 0,0 9,9 light 256\n", "1:20", "light must be an integer between 0 and 255, got 256"),
        ("room 0,0 9,9 colour 3\n", "1:14", "unknown option"),
        ("room 0,0\n", "1:9", "two opposite corners"),
        ("room 0,0 9, 9\n", "1:10", "a coordinate must be a number, got ''"),
        ("room 0,0 40000,9\n", "1:10", "between -16384 and 16384, got 40000"),
        ("rooom 0,0 9,9\n", "1:1", "did you mean 'room'?"),
        (SMALL + "start 9,9\n", "4:10", "must be 'facing', got the end of the line"),
        (SMALL + "start 64,64 facing 12.5\n", "4:20", "must be an integer"),
        (SMALL + "start 64,64 facing 0 90\n", "4:22", "must end here, got '90'"),
        (SMALL + "starts 0,0 to 100,0 every 64 facing 0\n", "4:27", "must divide the length"),
        (SMALL + "start 8,64 facing 0\n", "4:1", "16 units away from walls, got 8,64"),
        (SMALL + "start 600,64 facing 0\n", "4:1", "must lie in a room, got 600,64"),
        (SMALL + "wall 256,260 300,260\n", "3:1", "16 units away from walls"),
        (SMALL + "zone goal 200,200 300,300\n", "3:1", "would end before it begins"),
        (SMALL + "zone goal 0,0 9,9\nzone hazard 8,8 99,99\n", "5:1", "not overlap the goal"),
        (SMALL + "zone goal 600,600 700,700\n", "4:1", "must lie in a room"),
        (SMALL + "zone prize 0,0 9,9\n", "4:6", "unknown zone"),
        (SMALL + "wall 400,400 600,400\n", "4:1", "must lie in a room, got none from 512,400"),
        (SMALL + "wall 99,99 99,99\n", "4:17", "two or more points"),
        (SMALL + "wall 9,9 9,99\nwall 9,50 9,150\n", "5:1", "not lie on top of another"),
        (SMALL + "invisible 0,0 0,512\n", "4:1", "would have no effect"),
        ("room 0,0 0,512 512,0 512,512\n" + SMALL, "1:1", "must not cross itself"),
        ("room 0,0 256,256 512,512\n" + SMALL, "1:1", "must have an area"),
        ("room 0,0 0,99 99,99 0,0\n" + SMALL, "1:1", "closed automatically"),
        ("room 256,256 800,800\n" + SMALL, "2:1", "not overlap the room of line 1"),
        ("room 128,128 256,256\n" + SMALL, "2:1", "not overlap the room of line 1"),
        (ROOM + SMALL, "2:1", "not overlap the room of line 1"),
        (SMALL + "teleporter 99,99 99,200 to 300,300 300,400\n", "4:1", "outer wall"),
        (SMALL + "teleporter 0,0 0,128 to 600,0 600,99\n", "4:1", "must lie in a room"),
        (SMALL + "teleporter 0,0 0,128 to 512,0 512,99\n", "4:1", "inside a room"),
        (SMALL + "teleporter 0,0 0,128 to 256,8 384,8\n", "4:1", "at least 16 units away"),
        (SMALL + "teleporter 0,0 0,128 to 99,0 99,99\nwall 50,50 150,50\n", "4:1", "midway"),
        (SMALL + "teleporter 0,0 0,128 99,0 99,128\n", "4:22", "must be 'to', got '99,0'"),
    ],
)
def test_an_invalid_maze_is_refused_with_line_and_column(text: str, where: str, what: str) -> None:
    message = refusal(text)
    assert message.startswith(f"my.maze:{where}: "), message
    assert what in message


def test_a_gap_in_an_outline_is_found() -> None:
    from vast.envs.doom.layout import check_closed, lay_out

    layout = lay_out(parse_maze(SMALL, "my.maze").maps["ONE"])
    check_closed(layout)
    del layout.lines[2]
    with pytest.raises(MazeError, match=r"my.maze:1:1: .*must be closed, got a gap at"):
        check_closed(layout)


def test_a_file_that_cannot_be_read_is_one_line(tmp_path: object) -> None:
    with pytest.raises(UserError, match="cannot read the maze"):
        read_maze(f"{tmp_path}/none.maze")


def test_the_automatic_textures_exist_and_are_opaque_and_not_animated() -> None:
    known = textures()
    assert len(set(DISTINCT_WALLS)) == 72
    for name in DISTINCT_WALLS:
        assert known.walls[name].height == 128
        assert known.is_opaque(name)
        assert name not in known.animated
    assert "SLADRIP1" in known.animated
    assert not known.is_opaque("BRNSMAL1")
