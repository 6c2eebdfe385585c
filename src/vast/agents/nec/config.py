"""Every number of the NEC agent; the defaults are the paper's, for 3D navigation."""

from dataclasses import dataclass

from vast.agents.checks import at_least, positive, share
from vast.agents.config import LearnerConfig, SearchConfig


@dataclass(frozen=True)
class NECConfig(SearchConfig, LearnerConfig):
    """The embedding, the dictionaries and the returns."""

    embedding: int = 64
    """dimensions of a key; supplement, 'NEC'"""
    neighbours: int = 50
    """nearest entries that a value is read from; supplement, 'NEC'"""
    kernel_offset: float = 1e-3
    """delta of the kernel 1 / (distance^2 + delta); Pritzel et al. 2017"""
    capacity: int = 500_000
    """entries of each action's dictionary, of which the least recently used gives way; supplement,
    'NEC'"""
    n_steps: int = 50
    """N, rewards that a return is made of before it bootstraps; supplement, 'NEC'"""
    tabular_rate: float = 0.1
    """alpha, by how much a stored value moves to the return of a state met again; supplement"""
    learning_rate: float = 5e-5
    """of Adam, for the network; supplement, 'NEC'"""
    memory_rate: float = 0.01
    """by which keys and values of the neighbours follow the gradient of each lookup's squared
    error; ours: Pritzel et al. say only that it is lower than alpha"""
    probes: int = 32
    """lists that one inverted search reads, more than for fewer neighbours; ours"""

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(1, embedding=self.embedding, neighbours=self.neighbours, capacity=self.capacity)
        at_least(1, n_steps=self.n_steps)
        positive(kernel_offset=self.kernel_offset)
        share(tabular_rate=self.tabular_rate, memory_rate=self.memory_rate)

    @property
    def least_replay(self) -> int:
        """Return how many frames it takes until the return of the first is known."""
        return self.n_steps + self.history + 2
