"""Fig. 3: the large maze without and with hazards, agent against agent."""

from dataclasses import replace

from vast.experiments.figures.arms import (
    EVERY_25K,
    EXTENDED_VAST,
    FIVE,
    PAPER_ARMS,
    THREE,
    beta_until,
)
from vast.experiments.figures.trials import SHORT_SCHEDULE, tuned
from vast.experiments.spec import Arm, Experiment

TASKS = ("large-maze", "large-maze-hazards")
ABOUT = "the large maze without and with hazards (Fig. 3)"

STEPS = 400_000
PROBES = ("hazards", "frames")


TUNED = tuned("large-maze")

SCALES = {
    "cpu": Experiment(
        "fig3",
        TASKS,
        {
            **TUNED,
            "plain": replace(TUNED["plain"], probes=(*PROBES, "decisions")),
            "ddqn": beta_until(TUNED["ddqn"], "large-maze", STEPS),
        },
        THREE,
        about=ABOUT,
        steps=STEPS,
        loop=EVERY_25K,
        probes=PROBES,
    ),
    "paper": Experiment("fig3", TASKS, PAPER_ARMS, FIVE, about=ABOUT, preset="paper"),
}

RANDOM_POLICY = {
    "cpu": Experiment(
        "random-policy",
        ("large-maze",),
        # An agent that never leaves its burn-in acts at random; LSH is the fastest one.
        {"random": Arm("lsh", {"exploration.burn_in": 600_000}, label="random policy")},
        FIVE,
        about="how often a random policy is rewarded in the large maze (Fig. 3)",
        steps=600_000,
        loop={"eval_every": 600_000, "log_every": 5000},
    ),
}

SCHEDULE = {
    "cpu": Experiment(
        "large-maze-schedule",
        ("large-maze",),
        {
            "preset": EXTENDED_VAST,
            "short": Arm("vast", SHORT_SCHEDULE, label="VaST with extensions, short schedule"),
        },
        # None that a figure shows: this tells which schedule they have.
        (100, 101, 102),
        about="the large maze with a shorter burn-in and annealing",
        steps=STEPS,
        loop=EVERY_25K,
    ),
}
