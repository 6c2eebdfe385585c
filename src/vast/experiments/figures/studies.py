"""Studies of the preset `cpu`: what each of its parts and extensions contributes.

The results of earlier runs, of test epochs only, are in `results/studies` of the package; labels
are those of the records. `restless` and `leaps` there are the extensions `repeat_penalty` and
`outcome_shift`.
"""

from collections.abc import Mapping
from typing import Any

from vast.experiments.figures.arms import EVERY_25K, FIVE, THREE
from vast.experiments.spec import Arm, Experiment

SHORT = {"eval_every": 5000, "eval_steps": 3000, "log_every": 500}
FINE = {**SHORT, "eval_every": 2500}
Scales = dict[str, Experiment]

NO_REPEAT_PENALTY = {"extensions.repeat_penalty": 0.0}
NO_LAST_ACTION = {"extensions.last_action": False}
NOT_SMOOTHED = {"extensions.smoothing": 0.0}
NOT_CAUTIOUS = {"extensions.caution": 0.0}
VAST = {"vast": Arm("vast", label="VaST")}


def without(label: str, changes: Mapping[str, Any]) -> Arm:
    """Return VaST with some changes."""
    return Arm("vast", changes, label=label)


def study(name: str, task: str, arms: Mapping[str, Arm], about: str, **options: Any) -> Scales:
    """Return a study, which has the scale cpu only."""
    given = {"seeds": FIVE, "loop": SHORT, **options}
    return {"cpu": Experiment(f"study-{name}", (task,), arms, about=about, **given)}


def reversal(name: str, arms: Mapping[str, Arm], about: str) -> Scales:
    """Return a study in the plus-maze, whose rewards are reversed after 30 000 steps."""
    return study(
        name, "plus-maze", arms, about, steps=40_000, loop=FINE, interventions=("30000:reverse",)
    )


def teleporter(name: str, arms: Mapping[str, Arm], about: str) -> Scales:
    """Return a study in the H-maze, where a teleporter is opened and shown after 150 000 steps."""
    return study(
        name,
        "h-maze",
        arms,
        about,
        steps=170_000,
        loop={**EVERY_25K, "eval_every": 10_000},
        interventions=("150000:map=HON", "150000:run=h-maze-rewarded"),
        probes=("teleporter",),
    )


T_MAZE = study("t-maze", "t-maze", VAST, "the T-maze", steps=10_000)
PLUS_MAZE = reversal("plus-maze", VAST, "the plus-maze, then with reversed rewards")
PLUS_MAZE_START = study("plus-maze-start", "plus-maze", VAST, "the plus-maze", steps=15_000)
H_MAZE = teleporter("h-maze", VAST, "the H-maze, then with a teleporter that is shown")
LARGE_MAZE = study(
    "large-maze", "large-maze", VAST, "the large maze", steps=600_000, loop=EVERY_25K
)
LARGE_MAZE_HAZARDS = study(
    "large-maze-hazards",
    "large-maze-hazards",
    VAST,
    "the large maze with hazards",
    steps=600_000,
    loop=EVERY_25K,
)
RECENCY = reversal(
    "recency",
    {
        **VAST,
        "remembering": without("nothing is forgotten", {"extensions.change_point": None}),
        "mean-reward": without(
            "all rewards count alike",
            {
                "extensions.change_point": None,
                "extensions.reward_width": 0.0,
                "extensions.reward_horizon": None,
            },
        ),
    },
    "what recent rewards contribute after a reversal",
)
LEAPS = teleporter(
    "leaps",
    {**VAST, "no-shift": without("without leaps", {"extensions.outcome_shift": None})},
    "what outcome shifts contribute after the teleporter opened",
)
CONTROLS = study(
    "controls",
    "plus-maze",
    {
        **VAST,
        "untrained": without(
            "untrained encoder",
            {"model.learning_rate": 1e-9, "model.final_learning_rate": 1e-9},
        ),
        "no-sweeping": without(
            "no sweeping", {"planning.backups_per_step": 0, "planning.backups_per_training": 0}
        ),
        "no-reassignment": without(
            "no reassignment", {"training.reassign": False, "training.retabulate": 0}
        ),
        "no-neighbours": without(
            "no neighbour estimate", {**NOT_SMOOTHED, **NOT_CAUTIOUS, "planning.neighbours": False}
        ),
        "lsh": Arm("lsh", label="LSH"),
    },
    "VaST without one of its parts each",
    steps=15_000,
    seeds=THREE,
)
REMEDIES = study(
    "remedies",
    "plus-maze",
    {
        **VAST,
        "no-repeat-penalty": without("not restless", NO_REPEAT_PENALTY),
        "no-last-action": without("without last action", NO_LAST_ACTION),
        "not-smoothed": without("not smoothed", NOT_SMOOTHED),
        "none": without(
            "none of these",
            {**NO_REPEAT_PENALTY, **NO_LAST_ACTION, **NOT_SMOOTHED, **NOT_CAUTIOUS},
        ),
    },
    "VaST without one or all of its extensions against greedy loops",
    steps=15_000,
)
LABELS = {"vast": "VaST", "lsh": "LSH", "mfec": "MFEC", "nec": "NEC", "ddqn": "Prioritized DDQN"}
AGENTS = study(
    "agents",
    "plus-maze",
    {
        # The same annealing for all.
        agent: Arm(agent, {"exploration.anneal_steps": 10_000}, label=label)
        for agent, label in LABELS.items()
    },
    "all agents in the plus-maze",
    steps=30_000,
    seeds=(1, 2, 3),
    loop={**FINE, "eval_steps": 1000},
)


def rates(first: float, final: float) -> dict[str, Any]:
    """Return a schedule of learning rates."""
    return {"model.learning_rate": first, "model.final_learning_rate": final}


SCORE = {"model.estimator": "score-function"}
ESTIMATORS = study(
    "estimators",
    "plus-maze",
    {
        "concrete": Arm("vast", {"model.estimator": "concrete"}),
        "straight-through": Arm("vast", {"model.estimator": "straight-through"}),
        # Its learning rate was chosen on seed 0, by the lowest free energy at the end.
        "score-function": Arm("vast", {**SCORE, **rates(3e-4, 6e-5)}, seeds=(0, 1, 2, 3)),
        "score-function-1e-3": Arm("vast", SCORE, seeds=(0,)),
        "score-function-3e-3": Arm("vast", {**SCORE, **rates(3e-3, 6e-4)}, seeds=(0,)),
    },
    "the three gradient estimators",
    steps=15_000,
    seeds=(1, 2, 3),
    loop={"eval_every": 2500, "eval_steps": 1000, "log_every": 500},
)
