"""Prioritized Double DQN's numbers, by what they are for."""

from vast.agents.ddqn.config import PrioritizedDDQNConfig
from vast.agents.presets import learning


def paper(task: str | None, shape: tuple[int, ...]) -> PrioritizedDDQNConfig:
    """Return the numbers as published (supplement)."""
    return PrioritizedDDQNConfig(**learning("paper", task, shape))


def cpu(task: str | None, shape: tuple[int, ...]) -> PrioritizedDDQNConfig:
    """Return numbers that learn in minutes on two cores.

    A target network that is copied often lets values travel from the goal in that time. The
    discount is smaller than the others': with 0.99 it learned later (docs/agents/ddqn.md).
    """
    return PrioritizedDDQNConfig(
        **learning("cpu", task, shape),
        discount=0.95,
        beta_steps=100_000,
        target_interval=100,
        batch=64,
        train_interval=2,
        learning_rate=3e-4,
    )


def debug(task: str | None, shape: tuple[int, ...]) -> PrioritizedDDQNConfig:
    """Return the smallest agent that does everything, within seconds."""
    return PrioritizedDDQNConfig(
        **learning("debug", task, shape), beta_steps=200, target_interval=60, batch=8
    )


PRESETS = {"paper": paper, "cpu": cpu, "debug": debug}
