"""Latent learning: rewards are hidden for a while, then shown.

VaST builds its table without rewards. It is compared with the same agent that starts only then,
and with agents that learn from rewards alone, which start then as well.
"""

from vast.experiments.figures.arms import DDQN, EVERY_25K, EVERY_2500, FIVE, NEC
from vast.experiments.spec import Arm, Experiment

ABOUT = "latent learning in the {}: steps without rewards, and then with them"


def arms(hidden: int, shown: int, *, plain: bool) -> dict[str, Arm]:
    """Return agents that see `shown` steps with rewards, one of them `hidden` steps before."""
    without = {"extensions": ()} if plain else {}
    return {
        "latent": Arm(
            "vast",
            {**without, "latent_steps": hidden},
            steps=hidden + shown,
            label="VaST, rewards hidden first",
        ),
        "vast": Arm("vast", without, steps=shown, label="VaST"),
        "nec": Arm("nec", steps=shown, label=NEC.label),
        "ddqn": Arm("ddqn", steps=shown, label=DDQN.label),
    }


def scales(
    name: str, task: str, cpu: tuple[int, int], paper: tuple[int, int]
) -> dict[str, Experiment]:
    """Return the experiment in a maze, given the steps without and with rewards."""
    short = cpu[1] < 100_000
    about = ABOUT.format(task)
    return {
        "cpu": Experiment(
            name,
            (task,),
            arms(*cpu, plain=True),
            FIVE,
            about=about,
            loop=EVERY_2500 if short else EVERY_25K,
        ),
        "paper": Experiment(
            name, (task,), arms(*paper, plain=True), FIVE, about=about, preset="paper"
        ),
    }


PLUS_MAZE = scales("latent-plus-maze", "plus-maze", (15_000, 15_000), (100_000, 100_000))
LARGE_MAZE = scales("latent-large-maze", "large-maze", (150_000, 250_000), (500_000, 1_000_000))
