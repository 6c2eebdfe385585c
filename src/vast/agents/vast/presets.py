"""VaST's numbers, by what they are for."""

from dataclasses import replace

from vast.agents.vast.config import PlanningConfig, ReplayConfig, TrainingConfig, VaSTConfig
from vast.model.config import ModelConfig, NetworkConfig
from vast.training.exploration import ExplorationConfig

VECTOR_NETWORK = NetworkConfig(
    kind="mlp", mlp_hidden=(128, 128), transition_hidden=(128,), signed_code=True
)


def paper(task: str | None, shape: tuple[int, ...]) -> VaSTConfig:
    """Return the numbers as published (supplement, 'Hyperparameters').

    The paper has no task with vectors; there the networks are perceptrons.
    """
    config = VaSTConfig()
    if len(shape) == 1:
        config = replace(config, model=replace(config.model, network=VECTOR_NETWORK))
    if task == "plus-maze":
        return replace(
            config,
            exploration=ExplorationConfig(10_000, 1.0, 0.1, 40_000),
            replay=ReplayConfig(capacity=100_000),
        )
    if task == "pong":
        return replace(
            config,
            model=replace(config.model, n_bits=64, history=3, max_gradient_norm=100.0),
            exploration=ExplorationConfig(50_000, 1.0, 0.1, 1_000_000),
            replay=ReplayConfig(capacity=1_000_000, compressed=True),
        )
    return config


def cpu(task: str | None, shape: tuple[int, ...]) -> VaSTConfig:
    """Return numbers that learn in minutes on two cores; docs/vast.md tells what each is for."""
    image = len(shape) == 3
    resize = small_size(shape) if image else None
    weight = shape[0] * shape[1] / (resize[0] * resize[1]) if resize else 1.0
    config = VaSTConfig(
        resize=resize,
        model=ModelConfig(
            n_bits=32 if image else 24,
            network=replace(
                VECTOR_NETWORK,
                mlp_hidden=(256, 256) if image else (128, 128),
                mean_output_bias=True,
            ),
            standardise=True,
            reconstruction_weight=weight,
            learning_rate=1e-3,
            final_learning_rate=2e-4,
            learning_rate_steps=6000,
            max_gradient_norm=None,
            ema_decay=0.998,
        ),
        replay=ReplayConfig(capacity=500_000),
        training=TrainingConfig(
            every=8, batch=128, segment=8, burst=3000, retabulate=512, overlap=True
        ),
        planning=PlanningConfig(
            backups_per_training=40_000,
            reward_horizon=3000.0,
            reward_width=0.7,
            change_point=0.6,
            smoothing=1.0,
            caution=1.0,
        ),
        exploration=ExplorationConfig(5000, 1.0, 0.1, 10_000),
        tabulate_burn_in=False,
        last_action=True,
        restlessness=1.0,
    )
    if task == "t-maze":
        return replace(
            config,
            training=replace(config.training, burst=2000, retabulate=1024),
            planning=replace(config.planning, caution=4.0),
            exploration=ExplorationConfig(3000, 1.0, 0.05, 4000),
        )
    if task == "plus-maze":
        return replace(config, exploration=ExplorationConfig(5000, 1.0, 0.1, 4000))
    if task in ("h-maze", "large-maze", "large-maze-hazards"):
        # The way is long, and one new way is to be believed though the states around know of none.
        planning = replace(config.planning, smooth_learning=False)
        config = replace(
            config,
            model=replace(config.model, n_bits=64),
            planning=planning,
            last_action=False,
        )
        if task == "h-maze":
            return replace(
                config,
                planning=replace(planning, smoothing=1.5, leap=21),
                exploration=ExplorationConfig(20_000, 1.0, 0.1, 60_000),
            )
        if task == "large-maze-hazards":
            # Hazards strike at random: there the latest reward tells less than the mean of all.
            planning = replace(planning, reward_horizon=None, reward_width=0.0, change_point=None)
        return replace(
            config,
            training=replace(config.training, burst=5000, every=16),
            planning=planning,
            exploration=ExplorationConfig(50_000, 1.0, 0.1, 100_000),
            restless_by="state",
        )
    if task == "pong":
        return replace(
            config,
            model=replace(config.model, n_bits=64, history=3),
            exploration=ExplorationConfig(20_000, 1.0, 0.1, 100_000),
        )
    return config


def debug(task: str | None, shape: tuple[int, ...]) -> VaSTConfig:
    """Return the smallest agent that does everything, within seconds."""
    config = cpu(task, shape)
    network = replace(config.model.network, mlp_hidden=(32,), transition_hidden=(16,))
    return replace(
        config,
        model=replace(config.model, n_bits=16, network=network, ema_decay=0.9),
        replay=ReplayConfig(capacity=2000),
        training=replace(config.training, batch=32, burst=20, retabulate=32, every=4),
        exploration=ExplorationConfig(100, 1.0, 0.1, 100),
    )


def small_size(shape: tuple[int, ...]) -> tuple[int, int]:
    """Return the size of images that a perceptron learns from quickly: a quarter in each direction.

    Images that are small already are left as they are.
    """
    rows, columns = shape[:2]
    shrink = 4 if min(rows, columns) >= 40 else 1
    return max(rows // shrink, 1), max(columns // shrink, 1)


PRESETS = {"paper": paper, "cpu": cpu, "debug": debug}
