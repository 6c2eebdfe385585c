"""Fig. 6: rewards reversed in the plus-maze, with a small and a large replay memory."""

from dataclasses import replace

from vast.experiments.figures.arms import EVERY_2500, FIVE, PAPER_ARMS, THREE
from vast.experiments.figures.trials import tuned
from vast.experiments.spec import Arm, Experiment

ABOUT = "reversed rewards in the plus-maze, with a small and a large replay (Fig. 6)"
REPLAY = {"vast": "replay.capacity", "nec": "replay", "ddqn": "replay"}
"""the field of each agent's config"""


def with_replays(arms: dict[str, Arm], *frames: int) -> dict[str, Arm]:
    """Return every arm that has a replay, with each of these sizes."""
    return {
        f"{name}-{size // 1000}k": replace(
            arm,
            set={**arm.set, REPLAY[arm.agent]: size},
            label=f"{arm.label}, replay {size // 1000}k",
        )
        for name, arm in arms.items()
        if arm.agent in REPLAY
        for size in frames
    }


SMALL, LARGE = 15_000, 75_000
"""in proportion to the moment of the reversal, as published"""

CPU_ARMS = tuned("plus-maze")

SCALES = {
    "cpu": Experiment(
        "fig6",
        ("plus-maze",),
        {
            **with_replays(CPU_ARMS, SMALL, LARGE),
            # Counts of evicted frames stay, as published; here they go.
            "plain-15k-deleting": Arm(
                "vast",
                {
                    **CPU_ARMS["plain"].set,
                    "replay.capacity": SMALL,
                    "replay.delete_evicted": True,
                },
                label="plain VaST, replay 15k, evicted frames deleted",
            ),
            "lsh": CPU_ARMS["lsh"],
            "mfec": CPU_ARMS["mfec"],
        },
        THREE,
        about=ABOUT,
        steps=60_000,
        loop=EVERY_2500,
        interventions=("30000:reverse",),
    ),
    "paper": Experiment(
        "fig6",
        ("plus-maze",),
        with_replays(PAPER_ARMS, 100_000, 500_000),
        FIVE,
        about=ABOUT,
        preset="paper",
        interventions=("200000:reverse",),
    ),
}
