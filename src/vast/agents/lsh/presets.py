"""LSH's numbers, by what they are for."""

from vast.agents.lsh.config import LSHConfig
from vast.agents.presets import shared


def paper(task: str | None, shape: tuple[int, ...]) -> LSHConfig:
    """Return the numbers as published (supplement, 'LSH')."""
    return LSHConfig(**shared("paper", task, shape))


def cpu(task: str | None, shape: tuple[int, ...]) -> LSHConfig:
    """Return numbers that learn in minutes on two cores."""
    return LSHConfig(**shared("cpu", task, shape))


def debug(task: str | None, shape: tuple[int, ...]) -> LSHConfig:
    """Return the smallest agent that does everything, within seconds."""
    return LSHConfig(**shared("debug", task, shape), n_bits=16)


PRESETS = {"paper": paper, "cpu": cpu, "debug": debug}
