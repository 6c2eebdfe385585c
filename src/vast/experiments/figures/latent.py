"""Latent learning: rewards are hidden for a while, then shown.

VaST builds its table without rewards. It is compared with the same agent that starts only then,
and with agents that learn from rewards alone, which start then as well.
"""

from collections.abc import Mapping
from dataclasses import replace

from vast.experiments.figures.arms import EVERY_25K, EVERY_2500, FIVE, PAPER_ARMS, beta_until
from vast.experiments.figures.trials import tuned
from vast.experiments.spec import Arm, Experiment

ABOUT = "latent learning in the {}: steps without rewards, and then with them"


def arms(
    of: Mapping[str, Arm], vast: str, task: str, preset: str, hidden: int, shown: int
) -> dict[str, Arm]:
    """Return agents that see `shown` steps with rewards, one of them `hidden` steps before."""
    first = of[vast]
    return {
        "latent": replace(
            first,
            set={**first.set, "latent_steps": hidden},
            steps=hidden + shown,
            label="VaST, rewards hidden first",
        ),
        "vast": replace(first, steps=shown, label="VaST"),
        "nec": replace(of["nec"], steps=shown),
        "ddqn": replace(beta_until(of["ddqn"], task, shown, preset), steps=shown),
    }


def scales(
    task: str, cpu: tuple[int, int], paper: tuple[int, int], loop: Mapping[str, int]
) -> dict[str, Experiment]:
    """Return the experiment in a maze, given the steps without and with rewards."""
    name, about = f"latent-{task}", ABOUT.format(task)
    # Plain VaST: the claim is the paper's.
    ours = arms(tuned(task), "plain", task, "cpu", *cpu)
    published = arms(PAPER_ARMS, "vast", task, "paper", *paper)
    return {
        "cpu": Experiment(name, (task,), ours, FIVE, about=about, loop=loop),
        "paper": Experiment(name, (task,), published, FIVE, about=about, preset="paper"),
    }


PLUS_MAZE = scales("plus-maze", (15_000, 15_000), (100_000, 100_000), EVERY_2500)
LARGE_MAZE = scales("large-maze", (150_000, 250_000), (500_000, 1_000_000), EVERY_25K)
