"""The mazes of the tutorial work as described there."""

import re
from pathlib import Path

import numpy as np
from tests.envs.doom.mazes import LargeMazeHazards

from vast.envs.doom.maze_text import parse_maze, read_maze
from vast.envs.doom.udmf import maze_wad

DOCS = Path(__file__).parents[3] / "docs"
MAZES = re.findall(r"```maze\n(.*?)```", (DOCS / "mazes.md").read_text(), flags=re.DOTALL)


def test_the_tutorials_mazes_can_be_built() -> None:
    assert [list(parse_maze(text).maps) for text in MAZES] == [["OPEN"], ["OPEN", "SHUT", "JUMP"]]
    for text in MAZES:
        maze_wad(parse_maze(text))
    assert maze_wad(parse_maze(MAZES[-1])) == maze_wad(read_maze(DOCS / "mazes" / "detour.maze"))


def test_the_tutorials_maze_can_be_played() -> None:
    env = LargeMazeHazards(wad=DOCS / "mazes" / "detour.maze")
    ends = {}
    for name, start in {
        "SHUT": (704, 200, 90),
        "JUMP": (160, 64, 180),
        "OPEN": (160, 64, 180),
    }.items():
        env.set_map(name)
        env.reset(seed=0, options={"start": start})
        for _ in range(12):
            _, reward, terminated, _, info = env.step(np.int64(0))
            if terminated:
                break
        ends[name] = (reward if terminated else None, round(info["x"]), round(info["y"]))
    assert ends == {"SHUT": (None, 704, 368), "JUMP": (1.0, 350, 576), "OPEN": (None, 16, 64)}
    env.close()
