"""The tasks of the paper, by the names of the command."""

from dataclasses import dataclass
from typing import Any

import gymnasium

from vast.errors import UserError, unknown

Env = gymnasium.Env[Any, Any]


@dataclass(frozen=True)
class Task:
    """A world, and what there is to do in it."""

    env: str
    """its Gymnasium id"""
    about: str
    shape: tuple[int, ...] = (60, 80, 3)
    """of an observation"""

    @property
    def is_doom(self) -> bool:
        """Whether it can be played in a map of the user's own."""
        return self.shape == (60, 80, 3)


TASKS = {
    "t-maze": Task("vast/TMaze-v0", "from the left arm to the bottom of the stem (Fig. 1C)"),
    "t-maze-2d": Task("vast/TMaze2D-v0", "the same from (x, y), continuous (Fig. 1A, B)", (2,)),
    "large-maze": Task("vast/LargeMaze-v0", "from the rim to the centre (Fig. 3B)"),
    "large-maze-hazards": Task("vast/LargeMazeHazards-v0", "with six hazards (Fig. 3C)"),
    "h-maze": Task("vast/HMaze-v0", "through the H, later with a teleporter (Fig. 5)"),
    "plus-maze": Task("vast/PlusMaze-v0", "horizontal arms reward, vertical punish (Fig. 6)"),
    "pong": Task("vast/Pong-v0", "Pong, from grey frames (Fig. 7)", (84, 84, 1)),
}


def task_named(name: str) -> Task:
    """Return a task; UserError if there is none of that name."""
    if name not in TASKS:
        raise unknown("task", name, TASKS)
    return TASKS[name]


def task_of(env: Env) -> str | None:
    """Return the task that an environment was made for, or None: it is somebody's own."""
    made = None if env.spec is None else env.spec.id
    return next((name for name, task in TASKS.items() if task.env == made), None)


def make_env(
    name: str, wad: str | None = None, map_name: str | None = None, *, film: bool = False
) -> Env:
    """Return a task's environment, on the user's own map file if one is given."""
    task = task_named(name)
    options: dict[str, Any] = {}
    if film:
        if len(task.shape) != 3:
            seen = ", ".join(other for other, task in TASKS.items() if len(task.shape) == 3)
            raise UserError(f"task {name!r} cannot be filmed: allowed are {seen}")
        options["render_mode"] = "rgb_array"
    if wad is not None or map_name is not None:
        if not task.is_doom:
            doom = ", ".join(other for other, task in TASKS.items() if task.is_doom)
            raise UserError(f"--wad or --map with task {name!r}: allowed only with {doom}")
        options |= {"wad": wad, "map_name": map_name}
    return gymnasium.make(task.env, **options)
