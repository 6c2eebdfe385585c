"""Fig. 5 and Fig. S2: a teleporter in the H-maze, after no, a rewarded or a penalised forced run.

Every agent is trained once, and forked three ways when the teleporter opens.
"""

from dataclasses import replace

from vast.experiments.figures.arms import FIVE, PAPER_ARMS, THREE
from vast.experiments.figures.trials import tuned
from vast.experiments.spec import Experiment

ABOUT = "a shortcut in the H-maze, shown or not (Fig. 5, Fig. S2)"


def opened(step: int) -> dict[str, tuple[str, ...]]:
    """Return what happens when the teleporter opens."""
    opens = f"{step}:map=HON"
    return {
        "no-run": (opens,),
        "rewarded": (opens, f"{step}:run=h-maze-rewarded"),
        "penalised": (opens, f"{step}:run=h-maze-penalised"),
    }


SCALES = {
    "cpu": Experiment(
        "fig5",
        ("h-maze",),
        {
            name: replace(
                arm,
                # The claim of Fig. 5A counts seeds.
                seeds=FIVE if arm.agent == "vast" else None,
                forks=None if arm.agent == "vast" else ("rewarded", "penalised"),
            )
            for name, arm in tuned("large-maze").items()
        },
        THREE,
        about=ABOUT,
        steps=180_000,
        loop={"eval_every": 2500, "eval_steps": 1000, "log_every": 2500},
        fork_at=150_000,
        forks=opened(150_000),
    ),
    "paper": Experiment(
        "fig5",
        ("h-maze",),
        {
            name: replace(arm, forks=None if arm.agent == "vast" else ("rewarded", "penalised"))
            for name, arm in PAPER_ARMS.items()
        },
        FIVE,
        about=ABOUT,
        preset="paper",
        fork_at=400_000,
        forks=opened(400_000),
    ),
}
