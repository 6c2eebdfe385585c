"""MFEC's numbers, by what they are for."""

from vast.agents.mfec.config import MFECConfig
from vast.agents.presets import shared


def paper(task: str | None, shape: tuple[int, ...]) -> MFECConfig:
    """Return the numbers as published (Blundell et al. 2016); large memories are inverted."""
    return MFECConfig(**shared("paper", task, shape), index="inverted")


def cpu(task: str | None, shape: tuple[int, ...]) -> MFECConfig:
    """Return numbers that learn in minutes on two cores: a memory that is quick to look through."""
    return MFECConfig(**shared("cpu", task, shape), capacity=50_000)


def debug(task: str | None, shape: tuple[int, ...]) -> MFECConfig:
    """Return the smallest agent that does everything, within seconds."""
    return MFECConfig(**shared("debug", task, shape), projection=8, capacity=60)


PRESETS = {"paper": paper, "cpu": cpu, "debug": debug}
