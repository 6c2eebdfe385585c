"""NEC's numbers, by what they are for."""

from vast.agents.nec.config import NECConfig
from vast.agents.presets import learning


def paper(task: str | None, shape: tuple[int, ...]) -> NECConfig:
    """Return the numbers as published (supplement, 'NEC'); large memories are inverted."""
    return NECConfig(**learning("paper", task, shape), index="inverted")


def cpu(task: str | None, shape: tuple[int, ...]) -> NECConfig:
    """Return numbers that learn in minutes on two cores: a small embedding, quick to look up."""
    return NECConfig(
        **learning("cpu", task, shape),
        embedding=32,
        capacity=50_000,
        train_interval=8,
        learning_rate=1e-4,
    )


def debug(task: str | None, shape: tuple[int, ...]) -> NECConfig:
    """Return the smallest agent that does everything, within seconds."""
    return NECConfig(
        **learning("debug", task, shape),
        embedding=8,
        neighbours=5,
        capacity=60,
        n_steps=20,
        batch=8,
    )


PRESETS = {"paper": paper, "cpu": cpu, "debug": debug}
