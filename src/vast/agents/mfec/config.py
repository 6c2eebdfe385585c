"""Every number of the MFEC agent; as published by Blundell et al. 2016, the rest as the paper's."""

from dataclasses import dataclass

from vast.agents.checks import at_least
from vast.agents.config import SearchConfig


@dataclass(frozen=True)
class MFECConfig(SearchConfig):
    """Keys by random projection, neighbours and memory."""

    projection: int = 64
    """dimensions of a key, Gaussian random projections; Blundell et al. 2016"""
    neighbours: int = 11
    """k, over how many nearest entries an unknown value is averaged; Blundell et al. 2016"""
    capacity: int = 500_000
    """entries per action, of which the least recently used gives way; as the paper has for NEC"""

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(1, projection=self.projection, neighbours=self.neighbours)
        at_least(1, capacity=self.capacity)
