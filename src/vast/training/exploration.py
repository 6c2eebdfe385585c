"""Epsilon-greedy exploration, with a schedule that does not depend on the length of the run."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vast.checks import at_least, fraction


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
    """environment steps over which epsilon falls linearly from the first to the final value"""

    def __post_init__(self) -> None:
        at_least(0, burn_in=self.burn_in, anneal_steps=self.anneal_steps)
        fraction(first=self.first, final=self.final)

    def epsilon_at(self, step: int) -> float:
        """Return epsilon after this many environment steps."""
        if step < self.burn_in:
            return 1.0
        since = step - self.burn_in
        done = 1.0 if since >= self.anneal_steps else since / self.anneal_steps
        return self.first + done * (self.final - self.first)


def greedy(q: NDArray[np.float64], rng: np.random.Generator) -> int:
    """Return the best action; ties are broken at random."""
    best = np.flatnonzero(q == q.max())
    return int(best[0] if len(best) == 1 else rng.choice(best))


def epsilon_greedy(
    epsilon: float, n_actions: int, rng: np.random.Generator, best: Callable[[], int]
) -> int:
    """Return a random action with probability epsilon; otherwise ask for the best one.

    `best` is called only if it is needed: a random action requires no values.
    """
    if rng.random() < epsilon:
        return int(rng.integers(n_actions))
    return best()
