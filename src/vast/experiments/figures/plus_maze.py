"""Single questions about VaST's parts, asked in the plus-maze."""

from vast.experiments.figures.arms import EVERY_2500, FIVE, PLAIN_VAST, THREE
from vast.experiments.spec import Arm, Experiment

SHORT = 15_000


def compared(name: str, about: str, arms: dict[str, Arm]) -> dict[str, Experiment]:
    """Return arms beside plain VaST."""
    return {
        "cpu": Experiment(
            name,
            ("plus-maze",),
            {"plain": PLAIN_VAST, **arms},
            FIVE,
            about=about,
            steps=SHORT,
            loop=EVERY_2500,
        ),
        "paper": Experiment(
            name, ("plus-maze",), {"vast": Arm("vast"), **arms}, FIVE, about=about, preset="paper"
        ),
    }


BACKGROUND_PLANNER = compared(
    "background-planner",
    "planning in the background, as published, against inline planning",
    {
        "background": Arm(
            "vast",
            {"extensions": (), "planning.planner": "background"},
            label="background planner",
        )
    },
)
FIXED_PRIOR = compared(
    "fixed-prior",
    "a learned transition prior against a fixed one, as in a variational autoencoder",
    {
        "fixed-prior": Arm(
            "vast", {"extensions": (), "model.prior": "fixed"}, label="fixed Bernoulli prior"
        )
    },
)
PAPER_PRESET = {
    "cpu": Experiment(
        "paper-preset",
        ("plus-maze",),
        {
            "paper": Arm("vast", preset="paper", label="VaST, preset paper"),
            "plain": Arm("vast", PLAIN_VAST.set, label=PLAIN_VAST.label, seeds=THREE),
        },
        (0,),
        about="the preset `paper`, convolutional networks and no extension, beside plain VaST",
        steps=60_000,
        loop=EVERY_2500,
    )
}
