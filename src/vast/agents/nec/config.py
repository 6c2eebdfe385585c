"""The hyperparameters of NEC; the defaults are the paper's, for 3D navigation."""

from dataclasses import dataclass
from typing import Any

from vast.agents.config import NeighbourConfig, ReplayAgentConfig
from vast.agents.presets import shared_with_network
from vast.checks import at_least, fits, fraction, positive


@dataclass(frozen=True)
class NECConfig(NeighbourConfig, ReplayAgentConfig):
    """The embedding, the dictionaries and the returns."""

    embedding: int = 64
    """dimensions of a key; supplement, 'NEC'"""
    neighbours: int = 50
    """nearest entries that give a value; supplement, 'NEC'"""
    kernel_offset: float = 1e-3
    """delta of the kernel 1 / (distance^2 + delta); Pritzel et al. 2017"""
    capacity: int = 500_000
    """entries per action, of which the least recently used is replaced; supplement, 'NEC'"""
    n_steps: int = 50
    """N, rewards of a return before it bootstraps; supplement, 'NEC'"""
    tabular_rate: float = 0.1
    """alpha, share by which the value of a revisited state moves to its return; supplement"""
    learning_rate: float = 5e-5
    """of Adam, for the network; supplement, 'NEC'"""
    memory_rate: float = 0.01
    """learning rate of the neighbours' keys and values, for the squared error of each lookup; ours:
    Pritzel et al. say only that it is lower than alpha"""
    probes: int = 32
    """lists that one inverted search reads, more than for fewer neighbours; ours"""

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(1, embedding=self.embedding, neighbours=self.neighbours)
        at_least(1, capacity=self.capacity)
        fits(capacity=self.capacity)
        at_least(1, n_steps=self.n_steps)
        positive(kernel_offset=self.kernel_offset)
        fraction(tabular_rate=self.tabular_rate, memory_rate=self.memory_rate)

    @property
    def least_replay(self) -> int:
        """Return how many frames it takes until the first return is known."""
        return self.n_steps + self.history + 2


PRESETS: dict[str, dict[str, Any]] = {
    "paper": {"index": "inverted"},
    # A small embedding is quick to look up.
    "cpu": {"index": "inverted", "embedding": 32, "train_interval": 8, "learning_rate": 1e-4},
    "debug": {"embedding": 8, "neighbours": 5, "capacity": 60, "n_steps": 20, "batch": 8},
}
"""what each preset sets beside what all agents share"""


def preset(name: str, task: str | None, shape: tuple[int, ...]) -> NECConfig:
    """Return the config of a preset."""
    return NECConfig(**shared_with_network(name, task, shape), **PRESETS[name])
