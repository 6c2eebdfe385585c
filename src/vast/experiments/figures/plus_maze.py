"""Single questions about an agent's parts, asked in the plus-maze."""

from dataclasses import replace

from vast.experiments.figures.arms import EVERY_2500, FIVE, PLAIN_VAST, THREE
from vast.experiments.figures.trials import tuned
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

FIGURES_DDQN = tuned("plus-maze")["ddqn"]
BEFORE = {
    "discount": 0.95,
    "exploration.anneal_steps": 10_000,
    "target_interval": 100,
    "beta_steps": 100_000,
}
"""what DDQN had in the study of all agents, and has no more in the figures"""


def with_earlier(label: str, *fields: str) -> Arm:
    """Return the figures' DDQN with some of what it had before."""
    changes = {field: BEFORE[field] for field in fields}
    return replace(FIGURES_DDQN, set={**FIGURES_DDQN.set, **changes}, label=f"DDQN, {label}")


DDQN_SETTINGS = {
    "cpu": Experiment(
        "ddqn-settings",
        ("plus-maze",),
        {
            "discount": with_earlier("discount 0.95", "discount"),
            "annealing": with_earlier("annealing over 10 000 steps", "exploration.anneal_steps"),
            "target": with_earlier("target copied every 100 steps", "target_interval"),
            "all": with_earlier("these three, and beta until 100 000 steps", *BEFORE),
        },
        THREE,
        about="Prioritized DDQN with what it had before, one at a time and together",
        steps=30_000,
        loop=EVERY_2500,
    )
}
