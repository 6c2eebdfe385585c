"""Importing vast registers the worlds and loads none of their engines."""

import subprocess
import sys

import gymnasium

import vast  # noqa: F401  (registers the environments)
from vast.envs import ENVIRONMENTS


def test_the_engines_are_loaded_when_first_needed() -> None:
    code = (
        "import sys, vast\n"
        "heavy = {'vizdoom', 'ale_py', 'numba', 'matplotlib', 'pygame', 'torch'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_world_is_registered() -> None:
    mazes = ("TMaze", "LargeMaze", "LargeMazeHazards", "HMaze", "PlusMaze", "TMaze2D")
    assert set(ENVIRONMENTS) == {f"vast/{name}-v0" for name in (*mazes, "Pong", "Atari")}
    assert set(ENVIRONMENTS) <= set(gymnasium.registry)
