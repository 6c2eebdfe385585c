"""Statistics against brute force: every resample, every permutation, every subset of hypotheses."""

from itertools import chain, combinations, product
from math import inf, isnan, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from vast.analysis.statistics import (
    Estimate,
    area_under_curve,
    estimate,
    holm,
    interquartile_mean,
    mean,
    mean_of_last,
    mean_within,
    median,
    paired_permutation_test,
    performance_profile,
    probability_of_improvement,
    seeds_needed,
    standard_error,
    steps_to,
    tolerance_interval,
)
from vast.analysis.statistics.estimates import COVERAGE, ENOUGH_SEEDS, interval_caveat
from vast.errors import UserError

SKEWED = np.random.default_rng(7).lognormal(size=(40, 3))


def every_resample(scores: np.ndarray) -> np.ndarray:
    """Return all ordered resamples of scores[seed, task], each task by itself."""
    n, tasks = scores.shape
    rows = list(product(range(n), repeat=n))
    return np.array(
        [
            np.stack([scores[list(row), task] for task, row in enumerate(chosen)], axis=1)
            for chosen in product(rows, repeat=tasks)
        ]
    )


def at_share(values: np.ndarray, share: float) -> float:
    return float(np.quantile(values, share, method="inverted_cdf"))


# --- estimates ------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(1, 1), (3, 1), (4, 1), (5, 2), (7, 3), (40, 3)])
def test_interquartile_mean_is_scipys_trimmed_mean_of_all_scores(shape: tuple[int, int]) -> None:
    scores = SKEWED[: shape[0], : shape[1]]
    assert interquartile_mean(scores) == pytest.approx(stats.trim_mean(scores.ravel(), 0.25))


@pytest.mark.parametrize("shape", [(2, 1), (3, 1), (5, 1), (2, 2), (3, 2)])
@pytest.mark.parametrize("statistic", [mean, interquartile_mean, median])
def test_with_few_seeds_the_interval_is_that_of_every_resample(
    statistic: Any, shape: tuple[int, int]
) -> None:
    scores = SKEWED[: shape[0], : shape[1]]
    found = estimate(statistic, scores, level=0.8)
    brute = np.array([statistic(resample) for resample in every_resample(scores)])
    assert found.value == pytest.approx(float(statistic(scores)))
    assert found.low == pytest.approx(at_share(np.sort(brute), 0.1))
    assert found.high == pytest.approx(at_share(np.sort(brute), 0.9))
    assert found.n == shape[0]


def test_with_two_arms_each_is_resampled_by_itself() -> None:
    ours, theirs = SKEWED[:3, :1], SKEWED[3:6, :1]
    found = estimate(probability_of_improvement, ours, theirs, level=0.9)
    brute = [
        float(probability_of_improvement(one, other))
        for one in every_resample(ours)
        for other in every_resample(theirs)
    ]
    assert (found.low, found.high) == (
        at_share(np.array(brute), 0.05),
        at_share(np.array(brute), 0.95),
    )


def test_random_resamples_come_close_to_all_of_them() -> None:
    scores = SKEWED[:5, :1]
    exact = estimate(mean, scores)
    drawn = estimate(mean, scores, resamples=100, rng=np.random.default_rng(0))
    spread = exact.high - exact.low
    assert abs(drawn.low - exact.low) < 0.2 * spread
    assert abs(drawn.high - exact.high) < 0.2 * spread
    assert (drawn.low, drawn.high) != (exact.low, exact.high), "they were all enumerated"


def test_bootstrap_intervals_of_few_seeds_cover_as_seldom_as_the_caveat_says() -> None:
    """On log-normal scores, whose mean is known."""
    rng, true = np.random.default_rng(3), np.exp(0.5)
    for n in (2, 3, 4, 5):
        intervals = [estimate(mean, rng.lognormal(size=n)) for _ in range(2500)]
        covered = np.mean([found.low <= true <= found.high for found in intervals])
        assert covered == pytest.approx(COVERAGE[n], abs=0.025)


def test_every_number_of_few_seeds_says_so() -> None:
    for n in range(1, ENOUGH_SEEDS):
        found = estimate(mean, SKEWED[:n, :1])
        assert found.caveat is not None
        assert ("too narrow" in str(found)) or ("no interval" in str(found))
        assert found.plain()["caveat"] == found.caveat
        assert found.plain()["seeds"] == n
    enough = estimate(mean, SKEWED[:ENOUGH_SEEDS, :1])
    assert enough.caveat is None
    assert "too narrow" not in str(enough)
    assert interval_caveat(3) == (
        "3 seeds: the interval is far too narrow; a nominal 95 % interval of the mean of skewed "
        "scores covers it in 64% of cases"
    )


def test_one_seed_has_no_interval() -> None:
    found = estimate(mean, [0.25])
    assert found.value == 0.25
    assert isnan(found.low)
    assert isnan(found.high)
    assert str(found) == "0.25 (n = 1: no interval)"
    assert found.plain()["low"] is None


def test_runs_that_never_reach_a_threshold_count_as_late() -> None:
    found = estimate(median, [5000.0, 7500.0, inf])
    assert (found.value, found.high) == (7500.0, inf)
    assert str(found) == "7,500 [5,000, never] (n = 3: too narrow)"
    assert str(Estimate(inf, inf, inf, 3)) == "never (n = 3: too narrow)"


def test_standard_error_is_scipys() -> None:
    assert standard_error(SKEWED) == pytest.approx(stats.sem(SKEWED, axis=0))
    assert np.isnan(standard_error(SKEWED[:1])).all()


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([], "scores must be [seed, task] and not empty, got the shape (0, 1)"),
        (np.zeros((2, 2, 2)), "scores must be [seed, task] and not empty, got the shape (2, 2, 2)"),
        ([1.0, nan], "scores must be numbers, got nan"),
    ],
)
def test_wrong_scores_get_one_line(scores: Any, message: str) -> None:
    with pytest.raises(UserError) as error:
        estimate(mean, scores)
    assert str(error.value) == message


# --- differences ----------------------------------------------------------------------------------


def test_probability_of_improvement_is_the_mann_whitney_statistic() -> None:
    ours, theirs = np.round(SKEWED[:6], 1), np.round(SKEWED[6:11], 1)  # with ties
    pairs = [
        stats.mannwhitneyu(ours[:, task], theirs[:, task]).statistic / (6 * 5) for task in range(3)
    ]
    assert probability_of_improvement(ours, theirs) == pytest.approx(np.mean(pairs))
    assert probability_of_improvement(ours, ours) == pytest.approx(0.5)
    assert probability_of_improvement([[2.0]], [[1.0]]) == 1


@pytest.mark.parametrize("tasks", [1, 3])
@pytest.mark.parametrize("n", [2, 3, 5, 8])
def test_paired_test_is_the_share_of_all_swaps_that_differ_as_much(n: int, tasks: int) -> None:
    ours, theirs = SKEWED[:n, :tasks], SKEWED[n : 2 * n, :tasks]
    observed = abs((ours - theirs).mean())
    hits = 0
    for swapped in product([False, True], repeat=n):
        where = np.array(swapped)[:, None]
        one, other = np.where(where, theirs, ours), np.where(where, ours, theirs)
        hits += abs((one - other).mean()) >= observed - 1e-12
    found = paired_permutation_test(ours, theirs)
    assert found.p == hits / 2**n
    assert found.exact
    assert found.difference == pytest.approx((ours - theirs).mean())


def test_paired_test_of_one_task_is_scipys() -> None:
    ours, theirs = SKEWED[:10, 0], SKEWED[10:20, 0]
    scipys = stats.permutation_test(
        (ours, theirs), lambda x, y: np.mean(x - y), permutation_type="samples"
    )
    assert paired_permutation_test(ours, theirs).p == pytest.approx(scipys.pvalue)


def test_random_permutations_come_close_to_all_and_never_give_zero() -> None:
    ours, theirs = SKEWED[:15, 0] + 0.5, SKEWED[15:30, 0]
    scipys = stats.permutation_test(
        (ours, theirs), lambda x, y: np.mean(x - y), permutation_type="samples", n_resamples=2**15
    )
    found = paired_permutation_test(ours, theirs)
    assert not found.exact
    assert found.p == pytest.approx(scipys.pvalue, abs=0.01)
    assert paired_permutation_test(np.arange(40.0) + 1, np.zeros(40)).p > 0


@pytest.mark.parametrize(("n", "smallest"), [(2, 0.5), (3, 0.25), (5, 0.0625), (6, 0.03125)])
def test_the_smallest_p_of_few_seeds_is_said(n: int, smallest: float) -> None:
    found = paired_permutation_test(np.ones(n), np.zeros(n))
    assert found.p == found.smallest_p == smallest
    assert (found.caveat is None) == (smallest <= 0.05)
    assert found.plain()["caveat"] == found.caveat
    if found.caveat:
        assert str(smallest)[:5] in str(found)


def test_paired_scores_must_match() -> None:
    with pytest.raises(UserError, match=r"one shape, got \(3, 1\) and \(2, 1\)"):
        paired_permutation_test([1, 2, 3], [1, 2])
    with pytest.raises(UserError, match="finite"):
        paired_permutation_test([1, inf], [1, 2])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_holm_is_closed_testing_by_bonferroni(p_values: list[float]) -> None:
    """A hypothesis is rejected if every set of hypotheses that holds it is."""
    indices = range(len(p_values))
    sets = list(chain.from_iterable(combinations(indices, size + 1) for size in indices))
    for index, adjusted in enumerate(holm(p_values)):
        bonferroni = [len(s) * min(p_values[i] for i in s) for s in sets if index in s]
        assert adjusted == pytest.approx(min(1.0, max(bonferroni)))


# --- tolerance intervals --------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "share", "confidence"), [(60, 0.9, 0.95), (30, 0.7, 0.9)])
def test_tolerance_intervals_hold_the_share_of_runs_with_the_confidence(
    n: int, share: float, confidence: float
) -> None:
    """Whatever the distribution; measured on 4000 samples of two of them."""
    rng = np.random.default_rng(0)
    for distribution, draw in (
        (stats.lognorm(1), rng.lognormal),
        (stats.norm(), rng.normal),
    ):
        held = []
        for _ in range(2000):
            found = tolerance_interval(draw(size=n), share, confidence)
            held.append(distribution.cdf(found.high) - distribution.cdf(found.low) >= share)
        assert found.caveat is None
        assert np.mean(held) == pytest.approx(found.confidence, abs=0.025)
        assert np.mean(held) > confidence - 0.015


def test_no_narrower_range_would_have_the_confidence() -> None:
    scores = np.arange(100.0)
    found = tolerance_interval(scores, 0.8, 0.9)
    apart = int(found.high - found.low)
    # Between order statistics k apart lies at least a share p if at most k - 1 of n lie below p.
    assert stats.binom.cdf(apart - 1, 100, 0.8) == pytest.approx(found.confidence)
    assert stats.binom.cdf(apart - 2, 100, 0.8) < 0.9 <= found.confidence
    assert abs(found.low - (99 - found.high)) <= 1, "it leaves out equally many at each end"


@pytest.mark.parametrize(("share", "confidence", "seeds"), [(0.9, 0.95, 46), (0.95, 0.95, 93)])
def test_how_many_seeds_are_needed(share: float, confidence: float, seeds: int) -> None:
    """The two numbers are those of every textbook table."""
    assert seeds_needed(share, confidence) == seeds
    assert tolerance_interval(np.arange(seeds), share, confidence).caveat is None
    assert tolerance_interval(np.arange(seeds - 1), share, confidence).caveat is not None


def test_too_few_seeds_give_their_range_and_say_what_it_is_worth() -> None:
    found = tolerance_interval([3.0, 1.0, 2.0])
    assert (found.low, found.high) == (1.0, 3.0)
    assert found.confidence == pytest.approx(1 - 3 * 0.9**2 + 2 * 0.9**3)
    assert found.caveat == (
        "3 seeds: even the range of all of them holds 90% of runs with a confidence of 3% only; "
        "46 seeds are needed for 95%"
    )
    assert found.plain()["caveat"] == found.caveat
    assert "confidence 3%" in str(found)
    assert tolerance_interval([1.0]).confidence == 0


# --- profiles and curves --------------------------------------------------------------------------


def test_profile_is_the_share_of_runs_above_each_score() -> None:
    scores = np.array([[1.0, 5.0], [2.0, 6.0], [3.0, 7.0]])
    profile = performance_profile(scores, [0.0, 2.0, 5.5, 7.0])
    assert [share.value for share in profile.shares] == pytest.approx([1, 4 / 6, 2 / 6, 0])
    assert profile.caveat is not None
    assert profile.plain()["caveat"] == profile.caveat
    brute = [(resample > 2).mean() for resample in every_resample(scores)]
    assert profile.shares[1].low == pytest.approx(at_share(np.array(brute), 0.025))
    assert performance_profile(scores).thresholds.tolist() == [1, 2, 3, 5, 6, 7]


def test_area_under_a_curve_is_its_mean_over_steps() -> None:
    assert area_under_curve([0, 10, 20], [1, 1, 1]) == 1
    assert area_under_curve([0, 10, 40], [0, 1, 1]) == pytest.approx((5 + 30) / 40)
    assert area_under_curve([0, 10, 20, 30], [0, nan, 2, 3]) == pytest.approx(1.5)
    assert isnan(area_under_curve([], []))


def test_the_last_third_of_the_tests() -> None:
    steps = np.arange(1, 10) * 1000
    assert mean_of_last(steps, np.arange(9.0)) == 7
    assert mean_of_last(steps[:7], np.arange(7.0)) == 5, "a third of 7 tests is rounded up to 3"
    assert mean_of_last(steps, [*np.arange(8.0), nan]) == 6
    assert isnan(mean_of_last([], []))


def test_the_mean_within_steps_leaves_out_the_first_of_them() -> None:
    assert mean_within([10, 20, 30, 40], [1, 2, 3, 4], 10, 30) == 2.5
    assert isnan(mean_within([10, 20], [1, 2], 20, 30))


def test_steps_to_a_threshold_count_from_the_change() -> None:
    steps, values = [10, 20, 30, 40, 50], [0.9, 0.1, 0.8, 0.2, 0.8]
    assert steps_to(steps, values, 0.8) == 10
    assert steps_to(steps, values, 0.8, after=10) == 20
    assert steps_to(steps, values, 0.8, after=10, in_a_row=2) == inf
    assert steps_to(steps, values, 0.1, after=10, in_a_row=2) == 10
    assert steps_to(steps, values, 0.95) == inf


def test_a_curve_must_have_one_value_per_increasing_step() -> None:
    with pytest.raises(UserError, match="a value per step"):
        area_under_curve([1, 2], [1])
    with pytest.raises(UserError, match="must increase"):
        steps_to([2, 1], [1, 1], 0)
