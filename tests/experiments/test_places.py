"""The place that codes tell: exact where they know it, the mean of all where they do not."""

import numpy as np
import pytest
from benchmarks.places import NEAREST, Walk, errors

PLACES = np.array([(0.0, 0.0), (300.0, 0.0), (300.0, 400.0)])


def walked(codes: list[int], episodes: int = NEAREST + 1) -> Walk:
    """Return a walk over the same places in every episode, with these codes."""
    poses = np.tile(np.column_stack([PLACES, [0, 90, 180]]), (episodes, 1))
    states = np.tile(np.array(codes, np.uint64), episodes)
    return Walk(poses, states, np.zeros(len(poses)), np.arange(episodes).repeat(len(PLACES)))


def test_codes_that_know_the_place_are_right() -> None:
    assert errors(walked([1, 2, 4])) == pytest.approx(np.zeros(3 * (NEAREST + 1)))


def test_two_places_with_one_code_are_taken_for_the_middle() -> None:
    wrong = errors(walked([1, 1, 4], episodes=10 * NEAREST))
    assert wrong[2::3] == pytest.approx(0)
    # The nearest five of the first episodes: three of one place, two of the other.
    assert set(np.round(np.concatenate([wrong[0::3], wrong[1::3]]))) <= {120, 180}


def test_ones_own_episode_tells_nothing() -> None:
    walk = walked([1, 2, 4])
    walk.states[0] = 8  # as far from all others, so that the first five of them are taken
    assert errors(walk)[0] == pytest.approx(np.hypot(*PLACES[[0, 1, 2, 0, 1]].mean(0)))
