"""The Doom tasks of the package, without Gymnasium's wrappers around them."""

from functools import partial

from vast.envs.doom.environment import DoomMaze
from vast.tasks import TASKS


def made_for(task: str) -> partial[DoomMaze]:
    return partial(DoomMaze, **TASKS[task].options)


TMaze = made_for("t-maze")
LargeMaze = made_for("large-maze")
LargeMazeHazards = made_for("large-maze-hazards")
HMaze = made_for("h-maze")
PlusMaze = made_for("plus-maze")
