"""Every number of the LSH agent; the defaults are the paper's, for 3D navigation."""

import math
from dataclasses import dataclass, field
from typing import Literal, get_args

from vast.agents.checks import at_least, discounted, positive
from vast.errors import UserError, unknown
from vast.training.exploration import ExplorationConfig

Planning = Literal["inline", "background"]


@dataclass(frozen=True)
class LSHConfig:
    """Codes by random projections, planning, exploration."""

    n_bits: int = 64
    """d, bits of a code and projections it is made of, 1 to 64; supplement, 'LSH'"""
    history: int = 0
    """k, earlier frames that are projected together with the current one; paper, section 2"""
    constant: float = 1.0
    """entry appended to vectors, not to images: without it the bits tell only a direction, with a
    larger one they cut space farther from its origin; 0: none; ours"""
    discount: float = 0.99
    """gamma; supplement, 'Hyperparameters'"""
    min_priority: float = 5e-5
    """p_min: a state whose |U - V| is smaller is not queued; supplement, 'LSH'"""
    planning: Planning = "inline"
    """inline is deterministic; background uses another core, as the paper"""
    backups_per_step: int = 1000
    """backups after each step of the environment, of inline planning; ours"""
    exploration: ExplorationConfig = field(default_factory=ExplorationConfig)
    """the schedule of epsilon"""

    def __post_init__(self) -> None:
        if not 1 <= self.n_bits <= 64:
            raise UserError(f"n_bits {self.n_bits}: allowed is 1 to 64")
        if not math.isfinite(self.constant):
            raise UserError(f"constant {self.constant}: allowed are finite numbers")
        if self.planning not in get_args(Planning):
            raise unknown("planning", self.planning, get_args(Planning))
        at_least(0, history=self.history, backups_per_step=self.backups_per_step)
        discounted(self.discount)
        positive(min_priority=self.min_priority)
