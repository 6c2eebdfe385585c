"""Estimates with stratified bootstrap intervals, which say how far they can be trusted.

Tasks are the strata: seeds are drawn with replacement within each task (Agarwal et al. 2021, "Deep
reinforcement learning at the edge of the statistical precipice"). If there are few seeds, all
resamples are enumerated, and the interval is exact; otherwise they are drawn at random.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations_with_replacement
from math import comb, factorial, inf, isfinite, nan, prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vast.checks import at_least
from vast.errors import UserError

Scores = NDArray[np.float64]
"""[seed, task]"""
Statistic = Callable[..., NDArray[np.float64]]
"""of one or more arms, each [..., seed, task], to [...]"""

RESAMPLES = 20_000
"""at most this many are enumerated; otherwise as many are drawn"""
ROUNDING = 1e-15
"""what is nearer to 0 is shown as 0: a mean of numbers that cancel each other"""
CHUNK = 1000
"""resamples computed at a time"""
ENOUGH_SEEDS = 10
"""with fewer, a bootstrap interval is far too narrow"""
COVERAGE = {2: 0.43, 3: 0.64, 4: 0.68, 5: 0.72, 6: 0.75, 7: 0.76, 8: 0.78, 9: 0.79}
"""how often a nominal 95 % bootstrap interval of the mean holds the true mean, by the number of
seeds, for log-normal scores (sigma 1); `tests/analysis/test_statistics.py` measures it"""


@dataclass(frozen=True)
class Estimate:
    """A number with its interval, the number of seeds behind it, and what this means."""

    value: float
    low: float
    """nan if there is a single seed"""
    high: float
    n: int
    """seeds; of two arms, those of the smaller one"""
    level: float = 0.95
    """nominal coverage of the interval"""

    @property
    def caveat(self) -> str | None:
        """What must be said beside the number; None if there are enough seeds."""
        return interval_caveat(self.n)

    @property
    def mark(self) -> str:
        """Return the caveat in a few words, for a cell of a table or the legend of a figure."""
        if self.n < 2:
            return "n = 1: no interval"
        return f"n = {self.n}" + (": too narrow" if self.caveat else "")

    def __str__(self) -> str:
        if not isfinite(self.low) and not isfinite(self.high):
            return f"{number(self.value)} ({self.mark})"
        return f"{number(self.value)} [{number(self.low)}, {number(self.high)}] ({self.mark})"

    def plain(self) -> dict[str, Any]:
        """Return it as JSON, with its caveat; what is not finite is null."""
        return {
            "value": finite(self.value),
            "low": finite(self.low),
            "high": finite(self.high),
            "level": self.level,
            "seeds": self.n,
            "caveat": self.caveat,
        }


def interval_caveat(n: int) -> str | None:
    """Return what must be said of a bootstrap interval or a standard error of `n` seeds."""
    if n >= ENOUGH_SEEDS:
        return None
    if n < 2:
        return "one seed: there is no interval"
    return (
        f"{n} seeds: the interval is far too narrow; a nominal 95 % interval of the mean of skewed "
        f"scores covers it in {COVERAGE[n]:.0%} of cases"
    )


def number(value: float) -> str:
    """Return a number in four significant digits; infinity is what was never reached."""
    if value == inf:
        return "never"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    if abs(value) < ROUNDING:
        return "0"
    return f"{value:.4g}"


def finite(value: float) -> float | None:
    """Return a number that JSON knows."""
    return float(value) if isfinite(value) else None


# --- statistics of scores -------------------------------------------------------------------------


def mean(scores: ArrayLike) -> NDArray[np.float64]:
    """Return the mean over seeds and tasks of scores[..., seed, task]."""
    return np.asarray(np.asarray(scores, float).mean(axis=(-2, -1)))


def interquartile_mean(scores: ArrayLike) -> NDArray[np.float64]:
    """Return the mean of the middle half of all scores[..., seed, task].

    A quarter of the scores, rounded down, is left out at each end; of fewer than 4, none.
    """
    array = np.asarray(scores, float)
    ranked = np.sort(array.reshape(*array.shape[:-2], -1), axis=-1)
    cut = ranked.shape[-1] // 4
    return np.asarray(ranked[..., cut : ranked.shape[-1] - cut].mean(axis=-1))


def median(scores: ArrayLike) -> NDArray[np.float64]:
    """Return the median of all scores[..., seed, task], the lower one of two.

    It is one of the scores, so that it means something if some are infinite.
    """
    array = np.asarray(scores, float)
    ranked = np.sort(array.reshape(*array.shape[:-2], -1), axis=-1)
    return np.asarray(ranked[..., (ranked.shape[-1] - 1) // 2])


def standard_error(values: ArrayLike) -> NDArray[np.float64]:
    """Return the standard error of the mean over the first axis (seeds); nan for one seed."""
    array = np.asarray(values, float)
    if len(array) < 2:
        return np.full(array.shape[1:], nan)
    return np.asarray(array.std(axis=0, ddof=1) / np.sqrt(len(array)))


# --- the bootstrap --------------------------------------------------------------------------------


def estimate(
    statistic: Statistic,
    *arms: ArrayLike,
    level: float = 0.95,
    resamples: int = RESAMPLES,
    rng: np.random.Generator | None = None,
) -> Estimate:
    """Return a statistic of one or more arms of scores[seed, task], with its percentile interval.

    The generator is used if there are too many resamples to enumerate; by default it starts anew.
    """
    given = [as_scores(arm) for arm in arms]
    if not 0 < level < 1:
        raise UserError(f"level must be above 0 and below 1, got {level}")
    at_least(1, resamples=resamples)
    n = min(len(arm) for arm in given)
    value = float(statistic(*given))
    if n < 2:
        return Estimate(value, nan, nan, n, level)
    found, weights = _distribution(statistic, given, resamples, rng or np.random.default_rng(0))
    low, high = _quantiles(found, weights, ((1 - level) / 2, (1 + level) / 2))
    return Estimate(value, low, high, n, level)


def as_scores(scores: ArrayLike) -> Scores:
    """Return scores[seed, task]; one row of numbers is one task."""
    array = np.asarray(scores, np.float64)
    array = array[:, None] if array.ndim == 1 else array
    if array.ndim != 2 or not array.size:
        raise UserError(f"scores must be [seed, task] and not empty, got the shape {array.shape}")
    if np.isnan(array).any():
        raise UserError("scores must be numbers, got nan")
    return array


def _distribution(
    statistic: Statistic, arms: list[Scores], resamples: int, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the statistic of resamples, and their weights."""
    shapes = [arm.shape for arm in arms]
    # Each task of each arm is a stratum of its own.
    distinct = prod(comb(2 * n - 1, n) ** tasks for n, tasks in shapes)
    draws = _all_draws(shapes) if distinct <= resamples else _random_draws(shapes, resamples, rng)
    found, weights = [], []
    for rows, weight in draws:
        drawn = [
            np.take_along_axis(arm[None], row, axis=1) for arm, row in zip(arms, rows, strict=True)
        ]
        found.append(statistic(*drawn))
        weights.append(weight)
    return np.concatenate(found), np.concatenate(weights)


Draw = tuple[list[NDArray[np.int64]], NDArray[np.float64]]
"""per arm, [resample, seed, task] which seeds; and how many ordered resamples each stands for"""


def _random_draws(
    shapes: list[tuple[int, ...]], resamples: int, rng: np.random.Generator
) -> Iterator[Draw]:
    for start in range(0, resamples, CHUNK):
        size = min(CHUNK, resamples - start)
        yield [rng.integers(shape[0], size=(size, *shape)) for shape in shapes], np.ones(size)


def _all_draws(shapes: list[tuple[int, ...]]) -> Iterator[Draw]:
    """Give every multiset of seeds in every stratum, weighted by its number of orders."""
    strata = [_multisets(n) for n, tasks in shapes for _ in range(tasks)]
    grid = np.indices([len(weights) for _, weights in strata]).reshape(len(strata), -1)
    for start in range(0, grid.shape[1], CHUNK):
        chosen = grid[:, start : start + CHUNK]
        rows = iter([sets[which] for (sets, _), which in zip(strata, chosen, strict=True)])
        weight = np.prod(
            [weights[which] for (_, weights), which in zip(strata, chosen, strict=True)], axis=0
        )
        yield [np.stack([next(rows) for _ in range(tasks)], -1) for _, tasks in shapes], weight


@lru_cache
def _multisets(n: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return all multisets of n out of n, and in how many orders each can be drawn."""
    sets = np.array(list(combinations_with_replacement(range(n), n)))
    orders = [
        factorial(n) / prod(factorial(count) for count in np.bincount(chosen)) for chosen in sets
    ]
    return sets, np.array(orders)


def _quantiles(
    values: NDArray[np.float64], weights: NDArray[np.float64], at: tuple[float, ...]
) -> list[float]:
    """Return the smallest values below or at which at least these shares of the weight lie."""
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weights[order]) / weights.sum()
    places = np.minimum(np.searchsorted(below, np.array(at) - 1e-12), len(values) - 1)
    return [float(value) for value in values[order[places]]]
