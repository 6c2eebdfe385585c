"""Fig. 3: the large maze without and with hazards, agent against agent."""

from dataclasses import replace

from vast.experiments.config import default_run
from vast.experiments.figures.arms import EVERY_25K, EXTENDED_VAST, FIVE, PAPER_ARMS, THREE
from vast.experiments.figures.trials import SHORT_SCHEDULE, tuned
from vast.experiments.spec import Arm, Experiment

TASKS = ("large-maze", "large-maze-hazards")
ABOUT = "the large maze without and with hazards (Fig. 3)"

STEPS = 400_000


def arms() -> dict[str, Arm]:
    """Return all agents; DDQN's beta is 1 when these runs end, not its task's."""
    found = tuned("large-maze")
    ddqn = found["ddqn"]
    after = STEPS - default_run("large-maze", "ddqn", "cpu").settings.exploration.burn_in
    return {**found, "ddqn": replace(ddqn, set={**ddqn.set, "beta_steps": after})}


SCALES = {
    "cpu": Experiment(
        "fig3",
        TASKS,
        arms(),
        THREE,
        about=ABOUT,
        steps=STEPS,
        loop=EVERY_25K,
        probes=("hazards", "frames"),
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
