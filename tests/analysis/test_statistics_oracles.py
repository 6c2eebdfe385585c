"""The same statistics by two published packages, where they are installed.

    pip install rliable rlevaluation "pandas<3"

They are no dependencies: they bring pandas, statsmodels, seaborn and polars.
"""

from importlib import import_module
from typing import Any

import numpy as np
import pytest

from vast.analysis.statistics import (
    estimate,
    interquartile_mean,
    mean,
    performance_profile,
    probability_of_improvement,
    tolerance_interval,
)

SCORES = np.random.default_rng(5).lognormal(size=(12, 3))
OTHERS = np.random.default_rng(6).lognormal(size=(12, 3))


def installed(module: str) -> Any:
    """Return a module, or skip the test: a package may be there and not fit the others."""
    try:
        return import_module(module)
    except Exception as error:
        pytest.skip(f"{module}: {error!r}")


@pytest.mark.filterwarnings("ignore")
def test_rliable_agrees() -> None:
    metrics, library = installed("rliable.metrics"), installed("rliable.library")
    assert interquartile_mean(SCORES) == pytest.approx(metrics.aggregate_iqm(SCORES))
    assert mean(SCORES) == pytest.approx(metrics.aggregate_mean(SCORES))
    assert probability_of_improvement(SCORES, OTHERS) == pytest.approx(
        metrics.probability_of_improvement(SCORES, OTHERS)
    )

    _, intervals = library.get_interval_estimates(
        {"arm": SCORES}, lambda x: np.array([metrics.aggregate_iqm(x)]), reps=5000
    )
    ours = estimate(interquartile_mean, SCORES, resamples=5000)
    spread = ours.high - ours.low
    assert [ours.low, ours.high] == pytest.approx(intervals["arm"][:, 0], abs=0.06 * spread)

    thresholds = np.linspace(0, 5, 7)
    shares, _ = library.create_performance_profile({"arm": SCORES}, thresholds, reps=10)
    profile = performance_profile(SCORES, thresholds)
    assert [share.value for share in profile.shares] == pytest.approx(shares["arm"])


@pytest.mark.filterwarnings("ignore")
def test_rlevaluation_agrees() -> None:
    statistics = installed("rlevaluation.statistics")
    rng = np.random.default_rng(0)
    theirs = statistics.percentile_bootstrap_ci(rng, SCORES[:, 0].copy())
    ours = estimate(mean, SCORES[:, 0])
    spread = ours.high - ours.low
    assert ours.value == pytest.approx(theirs.sample_stat)
    assert [ours.low, ours.high] == pytest.approx(theirs.ci, abs=0.06 * spread)


@pytest.mark.filterwarnings("ignore")
def test_tolerance_intervals_hold_those_of_rlevaluation_which_are_a_rank_or_two_too_narrow() -> (
    None
):
    """Its range lies at most one order statistic inside ours, and so lacks the confidence."""
    statistics = installed("rlevaluation.statistics")
    for n in range(60, 200, 7):
        scores = np.arange(float(n))
        low, high = statistics.tolerance_interval(scores, 0.05, 0.9).tol
        ours = tolerance_interval(scores, share=0.9, confidence=0.95)
        assert 0 <= low - ours.low <= 1
        assert 0 <= ours.high - high <= 1
