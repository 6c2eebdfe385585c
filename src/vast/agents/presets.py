"""What the presets of the baselines share with VaST's, so that the agents can be compared.

Discount, exploration, input, replay and planning budget are read off VaST's preset for the same
task: none of them can differ by accident. docs/agents/comparison.md lists what differs, and why.
"""

from typing import Any

from vast.agents.config import TableConfig
from vast.agents.vast.presets import preset as vast_preset


def shared(preset: str, task: str | None, shape: tuple[int, ...]) -> dict[str, Any]:
    """Return resizing, history, discount and exploration."""
    config = vast_preset(preset, task, shape)
    return {
        "resize": config.resize,
        "pooling": config.pooling,
        "history": config.history,
        "discount": config.planning.discount,
        "exploration": config.exploration,
    }


def shared_with_table(preset: str, task: str | None, shape: tuple[int, ...]) -> dict[str, Any]:
    """Return the same, with what a planner may spend: VaST's budget for steps and for training."""
    config = vast_preset(preset, task, shape)
    planning = config.planning
    return {
        **shared(preset, task, shape),
        "min_priority": planning.min_priority,
        "backups_per_step": planning.backups_per_step
        + planning.backups_per_training // config.training.every,
    }


def table_preset(name: str, task: str | None, shape: tuple[int, ...]) -> TableConfig:
    """Return the config of a table agent whose encoder is handed in."""
    return TableConfig(**shared_with_table(name, task, shape))


def shared_with_network(preset: str, task: str | None, shape: tuple[int, ...]) -> dict[str, Any]:
    """Return resizing and so on, with network and replay; input is standardised where VaST's is."""
    config = vast_preset(preset, task, shape)
    # NEC's keys from before standardisation are useless after it: early is better.
    early = min(1000, config.exploration.burn_in)
    return {
        **shared(preset, task, shape),
        "network": config.model.network,
        "standardise_after": early if config.model.standardise else None,
        "replay": config.replay.capacity,
        "compressed": config.replay.compressed,
    }
