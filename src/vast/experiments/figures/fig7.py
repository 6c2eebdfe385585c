"""Fig. 7 and Fig. S3: Pong with and without a history of frames."""

from dataclasses import replace

from vast.experiments.figures.arms import DDQN, FIVE, MFEC, NEC, THREE, beta_until
from vast.experiments.spec import Arm, Experiment

ABOUT = "Pong with and without a history of frames (Fig. 7, S3)"


PUBLISHED = 1_250_000
"""steps up to which others have published the scores of baselines"""


def baseline(arm: Arm) -> Arm:
    """Return an arm for orientation: one seed, as far as others have published it."""
    return replace(arm, seeds=(0,), steps=PUBLISHED, probes=())


# Both reconstruct the current frame only, as in the paper.
K3 = Arm("vast", {"model.target.past": 0}, label="k = 3")
K0 = Arm("vast", {"model.target.past": 0, "model.history": 0}, label="k = 0")

MOTION = Arm("vast", label="k = 3, target with motion")

SCALES = {
    "cpu": Experiment(
        "fig7",
        ("pong",),
        {
            "k3": K3,
            "k0": K0,
            "k3-motion": MOTION,
            "nec": baseline(NEC),
            "ddqn": baseline(beta_until(DDQN, "pong", PUBLISHED)),
            "mfec": baseline(MFEC),
        },
        THREE,
        about=ABOUT,
        # Fig. S3 needs some rows while the encoder trains.
        loop={"log_every": 2000, "eval_every": 50_000},
        probes=("ball", "networks"),
    ),
    "paper": Experiment("fig7", ("pong",), {"k3": K3, "k0": K0}, FIVE, about=ABOUT, preset="paper"),
}

LONG = {
    "cpu": replace(
        SCALES["cpu"],
        name="pong-long",
        arms={"k3": K3, "k0": K0, "k3-motion": MOTION},
        seeds=(0,),
        about="the first seeds of fig7, up to the paper's 5 000 000 steps",
        steps=5_000_000,
    )
}
