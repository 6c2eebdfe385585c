"""Every number of the LSH agent; the defaults are the paper's, for 3D navigation."""

import math
from dataclasses import dataclass
from typing import get_args

from vast.agents.checks import at_least, positive
from vast.agents.config import MindConfig, Planner
from vast.errors import UserError, unknown


@dataclass(frozen=True)
class LSHConfig(MindConfig):
    """Codes by random projections, and planning."""

    n_bits: int = 64
    """d, bits of a code and projections it is made of, 1 to 64; supplement, 'LSH'"""
    constant: float = 1.0
    """entry appended to vectors, not to images: without it the bits tell only a direction, with a
    larger one they cut space farther from its origin; 0: none; ours"""
    min_priority: float = 5e-5
    """p_min: a state whose |U - V| is smaller is not queued; supplement, 'LSH'"""
    planner: Planner = "inline"
    """inline is deterministic; background uses another core, as the paper"""
    backups_per_step: int = 1000
    """backups after each step of the environment, of inline planning; ours"""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.n_bits <= 64:
            raise UserError(f"n_bits {self.n_bits}: allowed is 1 to 64")
        if not math.isfinite(self.constant):
            raise UserError(f"constant {self.constant}: allowed are finite numbers")
        if self.planner not in get_args(Planner):
            raise unknown("planner", self.planner, get_args(Planner))
        at_least(0, backups_per_step=self.backups_per_step)
        positive(min_priority=self.min_priority)
