"""Distribution-free tolerance intervals: where most runs of an arm lie, not where their mean lies.

Between two order statistics of n runs lies a share of all runs that is Beta distributed, whatever
the distribution of scores (Wilks 1941).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import beta

from vast.analysis.statistics.estimates import as_scores, number
from vast.errors import UserError


@dataclass(frozen=True)
class ToleranceInterval:
    """A range of scores that holds a share of all runs, with some confidence."""

    low: float
    high: float
    share: float
    """of runs that it should hold"""
    confidence: float
    """with which it does"""
    wanted: float
    """the confidence asked for"""
    n: int

    @property
    def caveat(self) -> str | None:
        """What must be said beside the range; None if it keeps what was asked for."""
        if self.confidence >= self.wanted:
            return None
        return (
            f"{self.n} {'seeds' if self.n > 1 else 'seed'}: even the range of all of them holds "
            f"{self.share:.0%} of runs with a confidence of {self.confidence:.0%} only; "
            f"{seeds_needed(self.share, self.wanted)} seeds are needed for {self.wanted:.0%}"
        )

    @property
    def mark(self) -> str:
        """Return share and confidence in a few words."""
        return f"{self.share:.0%} of runs, confidence {self.confidence:.0%}, n = {self.n}"

    def __str__(self) -> str:
        return f"[{number(self.low)}, {number(self.high)}] ({self.mark})"

    def plain(self) -> dict[str, Any]:
        """Return it as JSON, with its caveat."""
        return {
            "low": self.low,
            "high": self.high,
            "share": self.share,
            "confidence": self.confidence,
            "seeds": self.n,
            "caveat": self.caveat,
        }


def tolerance_interval(
    scores: ArrayLike, share: float = 0.9, confidence: float = 0.95
) -> ToleranceInterval:
    """Return the range that holds this share of all runs of one task with this confidence.

    It is the narrowest one between two order statistics that leaves out equally many at each end,
    one more above if that is not possible. If there are too few seeds it is the range of all, with
    the confidence that it has.
    """
    _check(share, confidence)
    ranked = np.sort(as_scores(scores)[:, 0])
    n = len(ranked)
    apart = np.arange(1, n)
    enough = apart[_confidence(n, apart, share) >= confidence]
    width = int(enough[0]) if len(enough) else n - 1
    first = (n - 1 - width) // 2
    reached = float(_confidence(n, np.array(width), share)) if width else 0.0
    low, high = ranked[first], ranked[first + width]
    return ToleranceInterval(float(low), float(high), share, reached, confidence, n)


def seeds_needed(share: float = 0.9, confidence: float = 0.95) -> int:
    """Return of how many seeds the range holds this share of runs with this confidence."""
    _check(share, confidence)
    n = 2
    while _confidence(n, np.array(n - 1), share) < confidence:
        n += 1
    return n


def _confidence(n: int, apart: np.ndarray, share: float) -> np.ndarray:
    """Return the confidence of the range between order statistics `apart` ranks from each other."""
    return np.asarray(beta.sf(share, apart, n - apart + 1))


def _check(share: float, confidence: float) -> None:
    for name, value in (("share", share), ("confidence", confidence)):
        if not 0 < value < 1:
            raise UserError(f"{name} must be above 0 and below 1, got {value}")
