"""The worlds the agents act in, as Gymnasium environments.

They stand alone: nothing here knows of tables, networks or agents. Each is registered by a string,
so that a world's own dependencies are imported only when it is made.
"""

import gymnasium

ENVIRONMENTS = {
    "vast/Atari-v0": "vast.envs.atari:Atari",
    "vast/HMaze-v0": "vast.envs.doom.tasks:HMaze",
    "vast/LargeMaze-v0": "vast.envs.doom.tasks:LargeMaze",
    "vast/LargeMazeHazards-v0": "vast.envs.doom.tasks:LargeMazeHazards",
    "vast/PlusMaze-v0": "vast.envs.doom.tasks:PlusMaze",
    "vast/Pong-v0": "vast.envs.atari:Pong",
    "vast/TMaze-v0": "vast.envs.doom.tasks:TMaze",
    "vast/TMaze2D-v0": "vast.envs.tmaze2d:TMaze2D",
}
"""Gymnasium id -> where the class is."""


def register_all() -> None:
    """Make every environment known to `gymnasium.make`; importing `vast` does this."""
    for name, entry_point in ENVIRONMENTS.items():
        gymnasium.register(id=name, entry_point=entry_point)
