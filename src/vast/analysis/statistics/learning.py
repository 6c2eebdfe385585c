"""A learning curve as one number: its end, its area, how soon it reaches a threshold.

A curve is a metric of one run at the steps of its tests. Tests without a value are left out.
"""

from math import ceil, inf, nan

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vast.checks import at_least, fraction
from vast.errors import UserError

Points = NDArray[np.float64]


def known_points(steps: ArrayLike, values: ArrayLike) -> tuple[Points, Points]:
    """Return the steps and values of a curve that are known."""
    at, found = np.asarray(steps, float), np.asarray(values, float)
    if at.shape != found.shape or at.ndim != 1:
        raise UserError(f"a curve must have a value per step, got shapes {at.shape}, {found.shape}")
    if (np.diff(at) <= 0).any():
        raise UserError("the steps of a curve must increase")
    there = np.isfinite(found)
    return at[there], found[there]


def mean_of_last(steps: ArrayLike, values: ArrayLike, share: float = 1 / 3) -> float:
    """Return the mean of the last tests; nan if there is none.

    These are the last third of the tests, rounded up, or another share of them.
    """
    fraction(share=share)
    _, found = known_points(steps, values)
    last = ceil(round(share * len(found), 9))
    return float(found[-last:].mean()) if last else nan


def mean_within(steps: ArrayLike, values: ArrayLike, first: float, last: float) -> float:
    """Return the mean of the tests in (first, last] steps; nan if there is none."""
    at, found = known_points(steps, values)
    within = (at > first) & (at <= last)
    return float(found[within].mean()) if within.any() else nan


def area_under_curve(steps: ArrayLike, values: ArrayLike) -> float:
    """Return the area under a curve from its first to its last test, per step.

    So it has the unit of the metric: it is the mean of the curve over steps (trapezoidal rule).
    """
    at, found = known_points(steps, values)
    if len(at) < 2:
        return float(found[0]) if len(at) else nan
    return float(np.trapezoid(found, at) / (at[-1] - at[0]))


def steps_to(
    steps: ArrayLike, values: ArrayLike, threshold: float, *, after: float = 0.0, in_a_row: int = 1
) -> float:
    """Return how many steps after `after` a curve is at a threshold or above; inf if never.

    Only tests later than `after` count; `in_a_row` of them must reach it, and the first one tells.
    """
    at_least(1, in_a_row=in_a_row)
    at, found = known_points(steps, values)
    reached = (found >= threshold) & (at > after)
    for start in np.flatnonzero(reached):
        row = reached[start : start + in_a_row]
        if len(row) == in_a_row and row.all():
            return float(at[start] - after)
    return inf
