"""Fig. 1C, D: the T-maze with one arm shut, and what one run out of that arm does to the values.

The continuous T-maze of Fig. 1A, B needs no training; `vast.experiments.two_episodes` has it.
"""

from vast.experiments.figures.arms import EVERY_2500, EXTENDED_VAST, FIVE, PLAIN_VAST
from vast.experiments.spec import Arm, Experiment

SCALES = {
    "cpu": Experiment(
        "fig1",
        ("t-maze",),
        {"vast": EXTENDED_VAST, "plain": PLAIN_VAST},
        FIVE,
        about="the T-maze, and the values before and after one run (Fig. 1C, D)",
        loop=EVERY_2500,
        probes=("one-run",),
    ),
    "paper": Experiment(
        "fig1",
        ("t-maze",),
        {"vast": Arm("vast", label="VaST")},
        (0,),
        about="the T-maze, and the values before and after one run (Fig. 1C, D)",
        preset="paper",
        probes=("one-run",),
    ),
}
