"""Importing vast registers the environments and loads none of their engines."""

import subprocess
import sys
from typing import Any

import gymnasium
import pytest

from vast.errors import UserError
from vast.tasks import TASKS, Scale, Task, by_name, make_env, task_named


def test_the_engines_are_loaded_when_first_needed() -> None:
    code = (
        "import sys, vast\n"
        "heavy = {'vizdoom', 'ale_py', 'numba', 'matplotlib', 'pygame', 'torch'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_environment_is_registered() -> None:
    mazes = ("TMaze", "LargeMaze", "LargeMazeHazards", "HMaze", "PlusMaze", "TMaze2D")
    names = {f"vast/{name}-v0" for name in (*mazes, "Maze", "Pong", "PongRAM", "Atari")}
    assert names == {name for name in gymnasium.registry if name.startswith("vast/")}
    no_tasks = {"vast/Atari-v0", "vast/Maze-v0", "vast/PongRAM-v0"}
    assert {task.env for task in TASKS.values()} == names - no_tasks


@pytest.mark.parametrize("name", list(TASKS))
def test_a_task_is_what_its_record_says(name: str) -> None:
    env = make_env(name)
    assert env.observation_space.shape == TASKS[name].shape
    assert getattr(env.unwrapped, "task_name", None) == name
    env.close()


def test_a_task_that_lacks_something_is_refused_when_it_is_declared() -> None:
    fields: dict[str, Any] = {
        **{"name": "mine", "env": "vast/Mine-v0", "entry_point": "m:M", "about": "a maze"},
        **{"shape": (2,), "paper": Scale(1000), "cpu": Scale(100)},
    }
    Task(**fields)
    with pytest.raises(UserError, match=r"task 'mine' must declare about, shape$"):
        Task(**{**fields, "about": "", "shape": (0,)})
    with pytest.raises(UserError, match=r"task 'mine' must declare cpu$"):
        Task(**{**fields, "cpu": Scale(0)})
    with pytest.raises(UserError, match=r"task 'mine' must declare entry_point, shape, paper$"):
        Task(**{**fields, "entry_point": "", "shape": None, "paper": 1000})
    with pytest.raises(UserError, match="must be its own, got 'mine' twice"):
        by_name([Task(**fields), Task(**fields)])


def test_any_registered_environment_is_a_task() -> None:
    task = task_named("gym:CartPole-v1")
    assert (task.shape, task.is_doom) == ((4,), False)
    env = make_env("gym:CartPole-v1")
    assert env.spec is not None
    assert env.spec.id == "CartPole-v1"
    with pytest.raises(UserError, match=r"unknown environment .NoSuchThing-v0.: must be") as error:
        task_named("gym:NoSuchThing-v0")
    assert "\n" not in str(error.value)
