"""Fig. 4 and Fig. S1: the number of bits d of a state, in the large maze and in the plus-maze.

Fig. S1 shows the large maze on the left, from the runs of Fig. 4, and the plus-maze on the right.
"""

from collections.abc import Mapping
from typing import Any

from vast.experiments.figures.arms import EVERY_25K, EVERY_2500, FIVE, THREE
from vast.experiments.spec import Arm, Experiment

PLAIN = {"extensions": ()}


def bits(shared: Mapping[str, Any], *numbers: int) -> dict[str, Arm]:
    """Return an arm for each number of bits."""
    return {f"d{d}": Arm("vast", {**shared, "model.n_bits": d}, label=f"d = {d}") for d in numbers}


LARGE = "the number of bits of a state in the large maze (Fig. 4, Fig. S1 left)"
SMALL = "the number of bits of a state in the plus-maze (Fig. S1 right)"

SCALES = {
    "cpu": Experiment(
        "fig4",
        ("large-maze",),
        bits({}, 64, 32, 16),
        THREE,
        about=LARGE,
        steps=400_000,
        loop=EVERY_25K,
    ),
    "paper": Experiment(
        "fig4", ("large-maze",), bits(PLAIN, 64, 32, 24, 16), FIVE, about=LARGE, preset="paper"
    ),
}
SMALL_MAZE = {
    "cpu": Experiment(
        "figS1",
        ("plus-maze",),
        bits(PLAIN, 64, 32, 16, 8),
        FIVE,
        about=SMALL,
        steps=15_000,
        loop=EVERY_2500,
    ),
    "paper": Experiment(
        "figS1", ("plus-maze",), bits(PLAIN, 64, 32, 16, 8), FIVE, about=SMALL, preset="paper"
    ),
}
