"""The paper's tasks in Doom mazes: which maze, which rules."""

from vast.envs.doom.environment import DoomMaze
from vast.envs.doom.rules import Rules

STEP_PENALTY = -0.01
"""the living reward in all mazes but the plus-maze"""


class TMaze(DoomMaze):
    """From the left arm to the bottom of the stem; the right arm is shut off (Fig. 1C).

    Episodes begin exactly at the start: there is no chance in this task.
    """

    maze = "t-maze"
    rules = Rules(STEP_PENALTY, turn_steps=0, random_steps=0)


class LargeMaze(DoomMaze):
    """From anywhere in the outer rim to the centre (Fig. 3B)."""

    maze = "large-maze"
    rules = Rules(STEP_PENALTY)


class LargeMazeHazards(DoomMaze):
    """The large maze with six hazards, each of which may punish a step in it (Fig. 3C)."""

    maze = "large-maze"
    rules = Rules(STEP_PENALTY, hazards=True)


class HMaze(DoomMaze):
    """Through the H to its far top; map HON opens a teleporter in the dead end (Fig. 5)."""

    maze = "h-maze"
    rules = Rules(STEP_PENALTY)


class PlusMaze(DoomMaze):
    """To the end of any arm: horizontal ones reward, vertical ones punish (Fig. 6)."""

    maze = "plus-maze"
    rules = Rules(living_reward=0.0)
