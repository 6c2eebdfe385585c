"""`vast maze build` and `vast maze show`."""

from importlib.resources import files
from pathlib import Path

import matplotlib.image
import numpy as np
import pytest

from vast.cli import main
from vast.envs.doom.maze import UNIT
from vast.envs.doom.maze_text import parse_maze, read_maze
from vast.envs.doom.udmf import lay_out_maze, maze_wad
from vast.envs.doom.wad import Wad
from vast.envs.doom.wad_maps import maps_in

MAZES = ("t-maze", "plus-maze", "large-maze", "h-maze")
CORRIDOR = "room 0,0 1024,128\nmap ONE\nstart 64,64 facing east\n"


def shipped(maze: str) -> Path:
    return Path(str(files("vast.envs.doom") / "mazes" / f"{maze}.maze"))


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as stop:
        main(["maze", *arguments])
    assert stop.value.code == 2
    out, error = capsys.readouterr()
    assert out == ""
    assert error.startswith("vast: ")
    assert error.count("\n") == 1
    return error


def test_build_writes_the_wad_beside_the_maze(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    maze = tmp_path / "mine.maze"
    maze.write_text(CORRIDOR)
    main(["maze", "build", str(maze)])
    assert capsys.readouterr().out == f"wrote {tmp_path / 'mine.wad'}: ONE\n"
    assert (tmp_path / "mine.wad").read_bytes() == maze_wad(parse_maze(CORRIDOR))
    assert maps_in(Wad.open(tmp_path / "mine.wad"))["ONE"].player_starts == 1


def test_show_draws_walls_in_the_colour_of_their_texture(tmp_path: Path) -> None:
    maze = tmp_path / "mine.maze"
    maze.write_text("room 0,0 512,512 walls REDWALL1\nmap ONE\nstart 64,64 facing east\n")
    main(["maze", "show", str(maze), "--out", str(tmp_path / "map.png")])
    picture = matplotlib.image.imread(tmp_path / "map.png")[..., :3]
    red = (picture[..., 0] > 0.7) & (picture[..., 1] < 0.05) & (picture[..., 2] < 0.05)
    assert red.sum() > 1000
    maze.write_text("room 0,0 512,512 walls AQLITE07\nmap ONE\nstart 64,64 facing east\n")
    main(["maze", "show", str(maze), "--out", str(tmp_path / "other.png")])
    other = matplotlib.image.imread(tmp_path / "other.png")[..., :3]
    assert not ((other[..., 0] > 0.7) & (other[..., 1] < 0.05)).any()
    assert other.shape == picture.shape


@pytest.mark.parametrize(
    "maze", [MAZES[0], *(pytest.param(maze, marks=pytest.mark.slow) for maze in MAZES[1:])]
)
def test_the_shipped_mazes_can_be_built_and_drawn(tmp_path: Path, maze: str) -> None:
    for action in ("build", "show"):
        main(["maze", action, str(shipped(maze)), "--out", str(tmp_path / action)])
    picture = matplotlib.image.imread(tmp_path / "show")
    assert min(picture.shape[:2]) > 500
    colours = np.round(picture[..., :3] * 255).astype(int) @ (65536, 256, 1)
    assert len(np.unique(colours)) > 20


def test_the_shipped_mazes_have_the_papers_shapes() -> None:
    facts = {}
    for maze in MAZES:
        read = read_maze(shipped(maze))
        for name, layout in lay_out_maze(read)[0].items():
            points = np.array([p for line in layout.lines for p in (line.start, line.end)])
            faces = [face for line in layout.lines for face in (line.front, line.back)]
            painted = [face.texture for face in faces if face is not None and face.texture]
            facts[name] = (
                len(read.maps[name].starts),
                len(set(painted)),
                *(points.min(axis=0) // UNIT),
                *(points.max(axis=0) // UNIT),
            )
    assert facts == {
        "TBLOCK": (1, 10, -320, -576, 320, 64),
        "TOPEN": (1, 10, -320, -576, 320, 64),
        "PLUS": (45, 20, -576, -576, 576, 576),
        "LARGE": (57, 36, -512, -512, 512, 512),
        "HOFF": (24, 15, -1344, -576, 960, 576),
        "HON": (24, 15, -1344, -640, 960, 576),
    }


def test_many_walls_repeat_textures_and_it_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    maze = tmp_path / "mine.maze"
    walls = "".join(f"wall {x},128 {x},384\n" for x in range(100, 1000, 20))
    maze.write_text(f"room 0,0 1024,512\n{walls}map ONE\nstart 64,64 facing 0\n")
    main(["maze", "build", str(maze)])
    assert "note: 22 walls repeat a texture" in capsys.readouterr().out


def test_mistakes_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    maze = tmp_path / "bad.maze"
    maze.write_text("room 0,0 512,512\nmap ONE\nstart 64,64 facing up\n")
    assert f"{maze}:3:20: " in refused(capsys, "build", str(maze))
    assert f"{maze}:3:20: " in refused(capsys, "show", str(maze))
    assert "did you mean 'build'" in refused(capsys, "biuld", str(maze))
    assert "cannot read the maze" in refused(capsys, "build", str(tmp_path / "none.maze"))
    maze.write_text(CORRIDOR)
    assert "cannot write" in refused(capsys, "build", str(maze), "--out", f"{tmp_path}/no/a.wad")
    assert "Missing" in refused(capsys, "build")
