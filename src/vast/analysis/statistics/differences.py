"""Is one arm better than another? Probability of improvement, and a test that assumes nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vast.analysis.statistics.estimates import as_scores, number
from vast.checks import fraction
from vast.errors import UserError

ALL_FLIPS = 14
"""seeds up to which every assignment of signs is tried"""
RANDOM_FLIPS = 50_000
ROUNDING = 1e-9
"""relative; a permuted difference this close to the observed one counts as equal to it"""
SIGNIFICANT = 0.05


def probability_of_improvement(ours: ArrayLike, theirs: ArrayLike) -> NDArray[np.float64]:
    """Return how often a run of one arm scores above one of another, mean over tasks.

    Both are scores[..., seed, task]; a tie counts half. This is the Mann-Whitney statistic divided
    by the number of pairs.
    """
    mine = np.asarray(ours, float)[..., :, None, :]
    other = np.asarray(theirs, float)[..., None, :, :]
    return np.asarray(((mine > other) + 0.5 * (mine == other)).mean(axis=(-3, -2, -1)))


@dataclass(frozen=True)
class PairedTest:
    """The result of a paired permutation test."""

    difference: float
    """mean of the differences"""
    p: float
    """two-sided"""
    n: int
    """pairs: seeds that both arms have"""
    exact: bool
    """whether all permutations were tried"""

    @property
    def smallest_p(self) -> float:
        """The p-value that would result if every pair differed in the same direction."""
        return 2.0 ** (1 - self.n) if self.exact else 1 / (RANDOM_FLIPS + 1)

    @property
    def caveat(self) -> str | None:
        """What must be said beside the p-value; None if it can be significant."""
        if self.smallest_p <= SIGNIFICANT:
            return None
        return f"{self.n} pairs of seeds: p cannot be below {number(self.smallest_p)}"

    @property
    def mark(self) -> str:
        """Return the caveat in a few words."""
        return f"n = {self.n}" + (f": at least {number(self.smallest_p)}" if self.caveat else "")

    def __str__(self) -> str:
        return f"p = {number(self.p)} ({self.mark})"

    def plain(self) -> dict[str, Any]:
        """Return it as JSON, with its caveat."""
        return {
            "difference": self.difference,
            "p": self.p,
            "pairs": self.n,
            "exact": self.exact,
            "smallest_p": self.smallest_p,
            "caveat": self.caveat,
        }


def paired_permutation_test(
    ours: ArrayLike, theirs: ArrayLike, rng: np.random.Generator | None = None
) -> PairedTest:
    """Test whether two arms of scores[seed, task] differ, row by row of the same seed.

    If they did not, the scores of a seed could as well have come from the other arm: the sign of
    each seed's difference is flipped, that of all its tasks together, and p is the share of flips
    whose mean difference is at least as large. All of them are tried for up to 14 seeds.
    """
    mine, other = as_scores(ours), as_scores(theirs)
    if mine.shape != other.shape:
        raise UserError(f"paired scores must have one shape, got {mine.shape} and {other.shape}")
    if not np.isfinite([mine, other]).all():
        raise UserError("paired scores must be finite")
    differences = (mine - other).mean(axis=1)
    n = len(differences)
    exact = n <= ALL_FLIPS
    if exact:
        signs = 1 - 2 * (np.arange(2**n)[:, None] >> np.arange(n) & 1)
    else:
        signs = (rng or np.random.default_rng(0)).choice((-1, 1), size=(RANDOM_FLIPS, n))
    flipped = np.abs(signs @ differences)
    observed = abs(differences.sum())
    hits = int((flipped >= observed * (1 - ROUNDING)).sum())
    # Of random flips, the observed assignment itself is one (Phipson and Smyth 2010).
    p = hits / len(signs) if exact else (hits + 1) / (len(signs) + 1)
    return PairedTest(float(differences.mean()), p, n, exact)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted for their number, in their order (Holm 1979).

    To reject those that are at most alpha makes one error or more with probability alpha at most.
    """
    for p in p_values:
        fraction(p=p)
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, index in enumerate(np.argsort(p_values, kind="stable").tolist()):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = largest
    return adjusted
