"""The oracle of Pong: the same planning on true positions and speeds, which need not be learned.

Its score is what the planner can reach; what VaST lacks to it is due to its states.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from vast.experiments.spec import Arm, Experiment

BALL_X, BALL_Y, SPEED_X, SPEED_Y, PADDLE, ENEMY, OFFSET, MOVED = range(8)
"""entries of an observation of vast/PongRAM-v0"""

TASKS = ("gym:vast/PongRAM-v0",)

Scales = tuple[tuple[int, float, float, float], ...]

SPEEDS: Scales = ((SPEED_X, -1.0, 1.0, 1.5), (SPEED_Y, -3.5, 2.5, 1.0))
# Where the ball is about to meet the paddle every step counts: it moves by 4 pixels.
BALL: Scales = (
    (BALL_X, 35.0, 135.0, 25.0),
    (BALL_X, 148.0, 188.0, 4.0),
    (BALL_Y, 44.0, 204.0, 10.0),
)
# The paddle is 16 pixels high. Where it meets the ball decides how the ball leaves it.
RELATIVE: Scales = ((OFFSET, -58.0, 74.0, 22.0), (OFFSET, -7.0, 21.0, 4.0))
ABSOLUTE: Scales = ((PADDLE, 36.0, 204.0, 8.0),)
# It has inertia: what it does next depends on how it has moved.
INERTIA: Scales = ((MOVED, -22.5, 13.5, 9.0),)
FINE = (*BALL, *RELATIVE, *INERTIA, *SPEEDS)
COARSE: Scales = (
    (BALL_X, 48.0, 206.0, 12.0),
    (BALL_Y, 40.0, 208.0, 8.0),
    (PADDLE, 36.0, 204.0, 8.0),
    *SPEEDS,
)


def oracle(label: str, scales: Scales = FINE, changes: Mapping[str, Any] | None = None) -> Arm:
    """Return an arm of the oracle."""
    settings: dict[str, Any] = {
        "scales": scales,
        "discount": 0.95,
        "backups_per_step": 3000,
        "exploration.burn_in": 5000,
        "exploration.anneal_steps": 100_000,
        "exploration.final": 0.03,
    }
    return Arm("bins", {**settings, **(changes or {})}, label=label)


SCALES = {
    "cpu": Experiment(
        "pong-oracle",
        TASKS,
        {
            "oracle": replace(oracle("true state"), seeds=(0, 1)),
            "hashed": oracle("true state, hashed", changes={"hashed": True}),
            "coarse": oracle("true state, coarse bins", COARSE),
        },
        seeds=(0,),
        about="Pong with true positions and speeds as states",
        steps=2_000_000,
        loop={"eval_every": 100_000, "eval_steps": 10_000, "log_every": 10_000},
        probes=("ball",),
    )
}
VARIANTS = {
    "cpu": Experiment(
        "pong-oracle-variants",
        TASKS,
        {
            "discount-0.9": oracle("discount 0.9", changes={"discount": 0.9}),
            "discount-0.99": oracle("discount 0.99", changes={"discount": 0.99}),
            "absolute": oracle(
                "absolute position of the paddle", (*BALL, *ABSOLUTE, *INERTIA, *SPEEDS)
            ),
            "no-inertia": oracle("without the paddle's movement", (*BALL, *RELATIVE, *SPEEDS)),
            "more-exploration": oracle("final epsilon 0.1", changes={"exploration.final": 0.1}),
        },
        seeds=(0,),
        about="what the states and hyperparameters of the oracle of Pong contribute",
        steps=200_000,
        loop={"eval_every": 50_000, "eval_steps": 10_000, "log_every": 10_000},
    )
}
