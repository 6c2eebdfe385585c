"""Tree-likeness: how often states are revisited, in Atari games and in a maze.

The paper explains by it why planning pays in mazes and less in many Atari games.
"""

from vast.experiments.figures.arms import THREE
from vast.experiments.spec import Arm, Experiment

GAMES = tuple(
    f"gym:ale_py:ALE/{game}-v5" for game in ("Breakout", "MsPacman", "Freeway", "Seaquest")
)
TASKS = ("plus-maze", "pong", *GAMES)
ABOUT = "predecessors per state and revisited pairs, in games and in a maze"

SCALES = {
    "cpu": Experiment(
        "tree-likeness",
        TASKS,
        {"plain": Arm("vast", {"extensions": (), "model.n_bits": 32}, label="plain VaST")},
        THREE,
        about=ABOUT,
        steps=30_000,
        loop={"eval_every": 10_000, "eval_steps": 1000, "log_every": 1000},
        probes=("tree",),
    ),
    "paper": Experiment(
        "tree-likeness",
        TASKS,
        {"vast": Arm("vast", {"model.n_bits": 32}, label="VaST")},
        THREE,
        about=ABOUT,
        preset="paper",
        steps=1_000_000,
        probes=("tree",),
    ),
}
