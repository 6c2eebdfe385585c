"""Statistics of scores[seed, task], with seeds as units. Knows neither runs nor files."""

from vast.analysis.statistics.differences import (
    PairedTest,
    holm,
    paired_permutation_test,
    probability_of_improvement,
)
from vast.analysis.statistics.estimates import (
    Estimate,
    estimate,
    interquartile_mean,
    mean,
    median,
    standard_error,
)
from vast.analysis.statistics.learning import area_under_curve, mean_of_last, mean_within, steps_to
from vast.analysis.statistics.profiles import Profile, performance_profile
from vast.analysis.statistics.tolerance import ToleranceInterval, seeds_needed, tolerance_interval

__all__ = [
    "Estimate",
    "PairedTest",
    "Profile",
    "ToleranceInterval",
    "area_under_curve",
    "estimate",
    "holm",
    "interquartile_mean",
    "mean",
    "mean_of_last",
    "mean_within",
    "median",
    "paired_permutation_test",
    "performance_profile",
    "probability_of_improvement",
    "seeds_needed",
    "standard_error",
    "steps_to",
    "tolerance_interval",
]
