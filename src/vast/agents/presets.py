"""What the presets of the baselines share with VaST's, so that the agents can be compared."""

from typing import Any

from vast.agents.vast.presets import preset as vast_preset

CPU_REPLAY = 100_000
"""frames: rank-based and return-based sampling go through the whole replay for each minibatch"""


def shared(preset: str, task: str | None, shape: tuple[int, ...]) -> dict[str, Any]:
    """Return resizing, history and exploration."""
    config = vast_preset(preset, task, shape)
    return {
        "resize": config.resize,
        "history": config.history,
        "exploration": config.exploration,
    }


def shared_with_network(preset: str, task: str | None, shape: tuple[int, ...]) -> dict[str, Any]:
    """Return the same, with network and replay; input is standardised where VaST's is."""
    config = vast_preset(preset, task, shape)
    # NEC's keys from before standardisation are useless after it: early is better.
    early = min(1000, config.exploration.burn_in)
    return {
        **shared(preset, task, shape),
        "network": config.model.network,
        "standardise_after": early if config.model.standardise else None,
        "replay": CPU_REPLAY if preset == "cpu" else config.replay.capacity,
        "compressed": config.replay.compressed,
    }
