"""The presets of VaST as data: what each sets beside the defaults, which are the paper's.

A preset is the sum of the rows that apply, in this order: "all", then "image" or "vector" by the
kind of observations, then the task's own. "debug" comes on top of "cpu".
"""

from typing import Any

from vast.agents.vast.config import VaSTConfig
from vast.training.plain import with_changes

Changes = dict[str, Any]

PERCEPTRONS: Changes = {
    "model.network.kind": "mlp",
    "model.network.mlp_hidden": (128, 128),
    "model.network.transition_hidden": (128,),
    "model.network.signed_code": True,
}


def exploration(burn_in: int, anneal_steps: int, final: float = 0.1) -> Changes:
    """Return a schedule of exploration."""
    return {
        "exploration.burn_in": burn_in,
        "exploration.anneal_steps": anneal_steps,
        "exploration.final": final,
    }


# The way is long, and a single new way must be believed although the states around know of none.
LONG_MAZE: Changes = {
    "model.n_bits": 64,
    "extensions.last_action": False,
    "extensions.smooth_learning": False,
}
LARGE_MAZE: Changes = {
    **LONG_MAZE,
    **exploration(50_000, 100_000),
    "training.burst": 5000,
    "training.every": 16,
    # States that move keep the queue full for ever: any budget is used up. With this one the
    # greedy actions are those of a converged table in 99.9 % of the states.
    "planning.backups_per_step": 2000,
    "planning.backups_per_training": 8000,
    "extensions.repeat_by": "state",
}

NO_EXTENSIONS: Changes = {
    "extensions.last_action": False,
    "extensions.repeat_penalty": 0.0,
    "extensions.smoothing": 0.0,
    "extensions.caution": 0.0,
    "extensions.reward_horizon": None,
    "extensions.reward_width": 0.0,
    "extensions.change_point": None,
}
"""as `extensions = ()`, on top of a preset that has some"""

PAPER: dict[str, Changes] = {
    # The paper has no task with vectors.
    "vector": PERCEPTRONS,
    # As the authors' code; it shows the forced run of Fig. 1C at step 50 000.
    "t-maze": exploration(10_000, 40_000),
    "plus-maze": {**exploration(10_000, 40_000), "replay.capacity": 100_000},
    "pong": {
        **exploration(50_000, 1_000_000),
        "model.n_bits": 64,
        "model.history": 3,
        "model.max_gradient_norm": 100.0,
        "replay.capacity": 1_000_000,
        "replay.compressed": True,
    },
}

CPU: dict[str, Changes] = {
    "all": {
        **PERCEPTRONS,
        **exploration(5000, 10_000),
        "model.network.initialisation": "torch",
        "model.network.mean_output_bias": True,
        "model.standardise": True,
        "model.learning_rate": 1e-3,
        "model.final_learning_rate": 2e-4,
        "model.learning_rate_steps": 6000,
        "model.max_gradient_norm": None,
        "model.ema_decay": 0.998,
        "training.every": 8,
        "training.segment": 8,
        "training.burst": 3000,
        "training.retabulate": 512,
        "training.overlap": True,
        "training.process": True,
        "planning.backups_per_training": 40_000,
        "tabulate_burn_in": False,
        "extensions.last_action": True,
        "extensions.repeat_penalty": 1.0,
        "extensions.smoothing": 1.0,
        "extensions.caution": 1.0,
        "extensions.reward_horizon": 3000.0,
        "extensions.reward_width": 0.7,
        "extensions.change_point": 0.6,
    },
    "image": {"model.network.mlp_hidden": (256, 256)},
    "vector": {"model.n_bits": 24},
    "t-maze": {
        **exploration(3000, 4000, final=0.05),
        "training.burst": 2000,
        "training.retabulate": 1024,
        "extensions.caution": 4.0,
    },
    "plus-maze": exploration(5000, 4000),
    "h-maze": {
        **LONG_MAZE,
        **exploration(20_000, 60_000),
        "extensions.smoothing": 1.5,
        "extensions.outcome_shift": 21,
    },
    "large-maze": LARGE_MAZE,
    # Hazards strike at random: there the latest reward tells less than the mean of all.
    "large-maze-hazards": {
        **LARGE_MAZE,
        "extensions.reward_horizon": None,
        "extensions.reward_width": 0.0,
        "extensions.change_point": None,
    },
    "pong": {
        **exploration(20_000, 20_000, final=0.03),
        "pooling": "max",  # averaged, the ball is too dim to be reconstructed
        # States must tell where the ball is going, and the paddle to a few pixels: many bits, an
        # earlier frame in the target, and more weight on it, most where pixels often change. The
        # bits that are left are for the last two actions, which tell how the paddle moves.
        "model.n_bits": 58,
        "model.history": 3,
        "model.target.past": 2,
        "model.target.weighting": -0.25,
        "model.reconstruction_weight": 64.0,
        "model.learning_rate_steps": 20_000,
        "replay.capacity": 1_000_000,
        # The encoder must also see what happens once the agent hits the ball. From then on states
        # stay what they are.
        "training.freeze_after": 160_000,
        "planning.discount": 0.95,
        "planning.backups_per_step": 2000,
        "planning.backups_per_training": 20_000,
        **NO_EXTENSIONS,
        "extensions.last_action": True,
        "extensions.last_action_count": 2,
        # Such states are met too rarely to stand alone.
        "extensions.smoothing": 1.0,
    },
}

DEBUG: Changes = {
    **exploration(100, 100),
    "model.n_bits": 16,
    "model.network.mlp_hidden": (32,),
    "model.network.transition_hidden": (16,),
    "model.ema_decay": 0.9,
    "replay.capacity": 2000,
    "training.every": 4,
    "training.batch": 32,
    "training.burst": 20,
    "training.retabulate": 32,
    "training.process": False,  # starting one takes longer than such a run
}


def preset(name: str, task: str | None, shape: tuple[int, ...]) -> VaSTConfig:
    """Return the config of a preset for a task; None stands for any other environment."""
    if name == "paper":
        return with_changes(VaSTConfig(), changes_for(PAPER, task, shape))
    changes = {**smaller_images(shape), **changes_for(CPU, task, shape)}
    return with_changes(VaSTConfig(), {**changes, **(DEBUG if name == "debug" else {})})


def changes_for(table: dict[str, Changes], task: str | None, shape: tuple[int, ...]) -> Changes:
    """Return the rows of a table that apply, joined."""
    rows = ("all", "image" if len(shape) == 3 else "vector", task or "")
    return {path: value for row in rows for path, value in table.get(row, {}).items()}


def smaller_images(shape: tuple[int, ...]) -> Changes:
    """Return the size of images that a perceptron learns from quickly: a quarter in each direction.

    Images that are small already stay as they are. The reconstruction gets the weight that keeps
    its balance with the other terms of the free energy.
    """
    if len(shape) != 3:
        return {}
    rows, columns = shape[:2]
    shrink = 4 if min(rows, columns) >= 40 else 1
    size = max(rows // shrink, 1), max(columns // shrink, 1)
    return {
        "resize": size,
        "model.reconstruction_weight": rows * columns / (size[0] * size[1]),
    }
