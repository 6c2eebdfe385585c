"""What the presets of all agents share with those of VaST, so that they can be compared."""

from typing import Any

from vast.agents.vast import presets as theirs

CPU_REPLAY = 100_000
"""frames: what is drawn by rank, or by whether its return is known, is looked through each time"""


def shared(preset: str, task: str | None, shape: tuple[int, ...]) -> dict[str, Any]:
    """Return how images are shrunk, how many are seen at once, and how much is explored."""
    config = theirs.PRESETS[preset](task, shape)
    return {
        "resize": config.resize,
        "history": config.model.history,
        "exploration": config.exploration,
    }


def learning(preset: str, task: str | None, shape: tuple[int, ...]) -> dict[str, Any]:
    """Return the same, with the network and the replay; standardised where VaST is."""
    config = theirs.PRESETS[preset](task, shape)
    # Keys that NEC stores before the network changes are of no use afterwards: early is better.
    early = min(1000, config.exploration.burn_in)
    return {
        **shared(preset, task, shape),
        "network": config.model.network,
        "standardise_after": early if config.model.standardise else None,
        "replay": CPU_REPLAY if preset == "cpu" else config.replay.capacity,
        "compressed": config.replay.compressed,
    }
