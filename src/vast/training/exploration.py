"""How much an agent explores: random at first, then less and less."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vast.errors import UserError


@dataclass(frozen=True)
class ExplorationConfig:
    """The schedule of epsilon, the share of random actions, in steps of the environment."""

    burn_in: int = 50_000
    """steps of random actions before anything is trained; supplement, 'Hyperparameters'"""
    first: float = 1.0
    """epsilon when training begins; supplement"""
    final: float = 0.1
    """epsilon in the end; supplement"""
    anneal_steps: int = 200_000
    """steps in which epsilon falls from first to final, linearly, after burn_in; supplement"""

    def __post_init__(self) -> None:
        for name in ("burn_in", "anneal_steps"):
            if getattr(self, name) < 0:
                raise UserError(f"{name} {getattr(self, name)}: allowed is 0 or more steps")
        for name in ("first", "final"):
            if not 0 <= getattr(self, name) <= 1:
                raise UserError(f"{name} {getattr(self, name)}: allowed is 0 to 1")

    def epsilon_at(self, step: int) -> float:
        """Return epsilon after so many steps: 1 before `burn_in`, then on a line."""
        if step < self.burn_in:
            return 1.0
        if step >= self.burn_in + self.anneal_steps:
            return self.final
        done = (step - self.burn_in) / self.anneal_steps
        return self.first + done * (self.final - self.first)


def epsilon_greedy(q: NDArray[np.floating], epsilon: float, rng: np.random.Generator) -> int:
    """Return a random action in a share `epsilon` of cases, else one of the best by chance."""
    if rng.random() < epsilon:
        return int(rng.integers(len(q)))
    best = np.flatnonzero(q == q.max())
    return int(best[rng.integers(len(best))] if len(best) > 1 else best[0])
