"""What code of the pages finds when it begins: a run, a file, or names that its text explains."""

import shutil
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from tests.docs.pages import ROOT
from tests.experiments.sameness import vast


def t_maze_run() -> dict[str, Any]:
    """A run of the T-maze in runs/my and runs/demo, as `make demo` leaves one, but of seconds."""
    vast("train", "t-maze", "--preset", "debug", "--out", "runs/my")
    shutil.copytree("runs/my", "runs/demo")
    return {}


def own_files() -> dict[str, Any]:
    """A maze and a WAD of the user's own."""
    maze = ROOT / "docs" / "mazes" / "detour.maze"
    shutil.copy(maze, "my.maze")
    shutil.copy(maze, "detour.maze")
    return {}


def faulty_maze() -> dict[str, Any]:
    """A maze with an animated texture."""
    walls = "wall 0,0 9,0 texture SLADRIP1"
    Path("mine.maze").write_text(f"map OPEN\nroom 0,0 128,128\n{walls}\n", encoding="utf-8")
    return {}


def one_transition() -> dict[str, Any]:
    """A transition, and arrays of some."""
    return {
        "state": 7,
        "action": 0,
        "reward": 0.0,
        "next_state": 8,
        "states": np.array([8, 8], np.uint64),
        "actions": np.array([1, 2]),
        "rewards": np.array([1.0, 0.0]),
        "next_states": np.array([0, 7], np.uint64),
        "terminals": np.array([True, False]),
    }


def a_minibatch() -> dict[str, Any]:
    """Four steps of frames from a generator, as `Batch` takes them."""
    rng = np.random.default_rng(0)
    observations = rng.integers(0, 256, (4, 2, 60, 80, 3), np.uint8)
    return {
        "observations": observations,
        "actions": np.array([0, 1, 2, 0]),
        "first": np.array([True, False, False, False]),
        "frames": observations[:, 1],
    }


def an_episode() -> dict[str, Any]:
    """A frame, an action, a reward, and an encoder that sums pixels."""

    def encode(histories: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return np.array([history.sum() for history in histories], np.uint64)

    observation = np.random.default_rng(0).integers(0, 256, (60, 80, 3), np.uint8)
    return {"observation": observation, "action": 0, "reward": 0.0, "encode": encode}


def cartpole_arguments() -> dict[str, Any]:
    """The arguments of a script: an environment and a seed."""
    import sys

    sys.argv = ["program.py", "CartPole-v1", "0"]
    gymnasium.make("CartPole-v1").close()
    return {}
