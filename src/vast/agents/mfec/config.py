"""Every number of the MFEC agent; as published by Blundell et al. 2016, the rest as the paper's."""

from dataclasses import dataclass, field

from vast.agents.checks import at_least, discounted
from vast.training.exploration import ExplorationConfig


@dataclass(frozen=True)
class MFECConfig:
    """Keys by random projection, neighbours, memory, exploration."""

    projection: int = 64
    """dimensions of a key, Gaussian random projections; Blundell et al. 2016"""
    neighbours: int = 11
    """k, over how many nearest entries an unknown value is averaged; Blundell et al. 2016"""
    capacity: int = 500_000
    """entries per action, of which the least recently used gives way; as the paper has for NEC"""
    history: int = 0
    """k, earlier frames that are projected together with the current one; paper, section 2"""
    discount: float = 0.99
    """gamma; supplement, 'Hyperparameters'"""
    exploration: ExplorationConfig = field(default_factory=ExplorationConfig)
    """the schedule of epsilon"""

    def __post_init__(self) -> None:
        at_least(1, projection=self.projection, neighbours=self.neighbours)
        at_least(1, capacity=self.capacity)
        at_least(0, history=self.history)
        discounted(self.discount)
