"""When an agent tries something else: epsilon-greedy, with a schedule that knows of no end."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vast.errors import UserError


@dataclass(frozen=True)
class ExplorationConfig:
    """The share of random actions over time; supplement, 'Hyperparameters'."""

    burn_in: int = 50_000
    """environment steps of random actions only, before any training"""
    first: float = 1.0
    """epsilon when the burn-in ends"""
    final: float = 0.1
    """epsilon in the end"""
    anneal_steps: int = 200_000
    """environment steps in which it falls, linearly, from the one to the other"""

    def __post_init__(self) -> None:
        for name in ("burn_in", "anneal_steps"):
            if getattr(self, name) < 0:
                raise UserError(f"{name} {getattr(self, name)}: allowed is 0 or more steps")
        for name in ("first", "final"):
            if not 0 <= getattr(self, name) <= 1:
                raise UserError(f"epsilon {name} {getattr(self, name)}: allowed is 0 to 1")

    def epsilon_at(self, step: int) -> float:
        """Return epsilon after so many environment steps."""
        if step < self.burn_in:
            return 1.0
        since = step - self.burn_in
        done = 1.0 if since >= self.anneal_steps else since / self.anneal_steps
        return self.first + done * (self.final - self.first)


def greedy(q: NDArray[np.float64], rng: np.random.Generator) -> int:
    """Return the best action; ties are broken at random."""
    best = np.flatnonzero(q == q.max())
    return int(best[0] if len(best) == 1 else rng.choice(best))


def explores(epsilon: float, rng: np.random.Generator) -> bool:
    """Tell, with probability `epsilon`, to act at random: no values are needed then."""
    return bool(rng.random() < epsilon)
