"""Trials of hyperparameters: eight settings of every agent that the figures compare, one seed each.

The paper searched for its networks' hyperparameters in two mazes; here every agent, LSH and MFEC
included, has the same number of trials. They use a seed that no figure shows. VaST with extensions
has none: its preset is the outcome of longer studies (docs/fast.md).
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from vast.experiments.figures.arms import CPU_ARMS, DDQN, LSH, MFEC, NEC, PLAIN_VAST
from vast.experiments.spec import Arm, Experiment

Settings = Mapping[str, Mapping[str, Any]]
"""changes of a preset, by the name of the trial"""

SEED = 100
SHORT_SCHEDULE = {"exploration.burn_in": 15_000, "exploration.anneal_steps": 15_000}
"""of every trial in the large maze, where the preset's lasts as long as a trial. It is not that of
figures: a random policy needs 25 000 steps to find the goal, and some agents would never see it"""

VAST_TRIALS: Settings = {
    "preset": {},
    "bits-24": {"model.n_bits": 24},
    "bits-48": {"model.n_bits": 48},
    "rate-low": {"model.learning_rate": 3e-4, "model.final_learning_rate": 6e-5},
    "rate-high": {"model.learning_rate": 3e-3, "model.final_learning_rate": 6e-4},
    "burst-8000": {"training.burst": 8000},
    "every-4": {"training.every": 4},
    "retabulate-2048": {"training.retabulate": 2048},
}
NEC_TRIALS: Settings = {
    "preset": {},
    "published": {"learning_rate": 5e-5, "train_interval": 4, "embedding": 64},
    "rate-3e-4": {"learning_rate": 3e-4},
    "every-4": {"train_interval": 4},
    "steps-20": {"n_steps": 20},
    "steps-100": {"n_steps": 100},
    "neighbours-11": {"neighbours": 11},
    "tabular-0.5": {"tabular_rate": 0.5},
}
DDQN_TRIALS: Settings = {
    "preset": {},
    "published": {
        "learning_rate": 1e-4,
        "train_interval": 4,
        "batch": 32,
        "target_interval": 2000,
    },
    "rate-1e-4": {"learning_rate": 1e-4},
    "rate-1e-3": {"learning_rate": 1e-3},
    "target-500": {"target_interval": 500},
    "target-2000": {"target_interval": 2000},
    "alpha-0.5": {"alpha": 0.5},
    "batch-128": {"batch": 128},
}
LSH_TRIALS: Settings = {
    "preset": {},
    **{f"bits-{bits}": {"n_bits": bits} for bits in (48, 40, 32, 24, 20, 16, 12)},
}
MFEC_TRIALS: Settings = {
    "preset": {},
    **{f"neighbours-{count}": {"neighbours": count} for count in (3, 5, 25, 50)},
    **{f"projection-{size}": {"projection": size} for size in (32, 128, 256)},
}
TRIALS: Mapping[str, tuple[Arm, Settings]] = {
    "plain": (PLAIN_VAST, VAST_TRIALS),
    "nec": (NEC, NEC_TRIALS),
    "ddqn": (DDQN, DDQN_TRIALS),
    "lsh": (LSH, LSH_TRIALS),
    "mfec": (MFEC, MFEC_TRIALS),
}
"""the settings that were tried, by the figures' arm"""

BEST: Mapping[str, Mapping[str, str]] = {
    "plus-maze": {
        "plain": "bits-48",
        "nec": "tabular-0.5",
        "ddqn": "target-500",
        "lsh": "preset",
        "mfec": "neighbours-50",
    },
    "large-maze": {
        "plain": "bits-48",
        "nec": "published",
        "ddqn": "rate-1e-4",
        "lsh": "bits-48",
        "mfec": "neighbours-25",
    },
}
"""the trial that each figure's arm uses, by the maze that it was chosen in; without one, an arm is
its preset. Best is the reward per step in the last third of the tests"""


def tuned(maze: str) -> dict[str, Arm]:
    """Return the arms of a figure with the settings that were best in a maze."""
    found = dict(CPU_ARMS)
    for name, trial in BEST[maze].items():
        arm, settings = TRIALS[name]
        found[name] = replace(arm, set={**arm.set, **settings[trial]})
    return found


def arms(shared: Mapping[str, Any]) -> dict[str, Arm]:
    """Return every trial of every agent as an arm."""
    return {
        f"{name}-{trial}": replace(
            arm, set={**shared, **arm.set, **changes}, label=f"{arm.label}, {trial}"
        )
        for name, (arm, settings) in TRIALS.items()
        for trial, changes in settings.items()
    }


def trials(task: str, steps: int, every: int, shared: Mapping[str, Any]) -> dict[str, Experiment]:
    """Return all trials in one task."""
    return {
        "cpu": Experiment(
            f"trials-{task}",
            (task,),
            arms(shared),
            (SEED,),
            about=f"hyperparameters in the {task}, eight trials of every agent",
            steps=steps,
            loop={"eval_every": every, "eval_steps": 3000, "log_every": every},
        )
    }


PLUS_MAZE = trials("plus-maze", 15_000, 2500, {})
LARGE_MAZE = trials("large-maze", 150_000, 25_000, SHORT_SCHEDULE)
