"""Performance profiles: the share of runs above each score."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vast.analysis.statistics.estimates import Estimate, as_scores, estimate, interval_caveat


@dataclass(frozen=True)
class Profile:
    """The share of runs above each of some scores, with intervals point by point."""

    thresholds: NDArray[np.float64]
    shares: list[Estimate]
    n: int

    @property
    def caveat(self) -> str | None:
        """What must be said beside the band; None if there are enough seeds."""
        return interval_caveat(self.n)

    def plain(self) -> dict[str, Any]:
        """Return it as JSON, with its caveat."""
        return {
            "thresholds": self.thresholds.tolist(),
            "shares": [share.value for share in self.shares],
            "low": [share.plain()["low"] for share in self.shares],
            "high": [share.plain()["high"] for share in self.shares],
            "seeds": self.n,
            "caveat": self.caveat,
        }


def performance_profile(
    scores: ArrayLike,
    thresholds: ArrayLike | None = None,
    *,
    level: float = 0.95,
    rng: np.random.Generator | None = None,
) -> Profile:
    """Return the share of scores[seed, task] above each threshold, mean over tasks.

    By default the thresholds are the scores themselves, where the share changes.
    """
    known = as_scores(scores)
    asked = np.unique(known) if thresholds is None else np.asarray(thresholds, float).ravel()
    generator = rng or np.random.default_rng(0)

    def above(threshold: float) -> Estimate:
        return estimate(
            lambda drawn: np.asarray(drawn > threshold).mean(axis=(-2, -1)),
            known,
            level=level,
            rng=generator,
        )

    return Profile(asked, [above(float(threshold)) for threshold in asked], len(known))
