"""Places estimated from states: exact where states tell places apart, a mean where they do not."""

import numpy as np
import pytest

from vast.experiments.probes.places import NEAREST, Walk, errors

PLACES = np.array([(0.0, 0.0), (300.0, 0.0), (300.0, 400.0)])


def walked(states_of_places: list[int], episodes: int = NEAREST + 1) -> Walk:
    """Return a walk over the same places in every episode, with these states."""
    poses = np.tile(np.column_stack([PLACES, [0, 90, 180]]), (episodes, 1))
    states = np.tile(np.array(states_of_places, np.uint64), episodes)
    return Walk(poses, states, np.zeros(len(poses)), np.arange(episodes).repeat(len(PLACES)))


def test_states_that_tell_places_apart_have_no_error() -> None:
    assert errors(walked([1, 2, 4])) == pytest.approx(np.zeros(3 * (NEAREST + 1)))


def test_two_places_with_one_state_are_estimated_in_between() -> None:
    wrong = errors(walked([1, 1, 4], episodes=10 * NEAREST))
    assert wrong[2::3] == pytest.approx(0)
    # The nearest five of the first episodes: three of one place, two of the other.
    assert set(np.round(np.concatenate([wrong[0::3], wrong[1::3]]))) <= {120, 180}


def test_the_same_episode_does_not_count() -> None:
    walk = walked([1, 2, 4])
    walk.states[0] = 8  # as far from all others: the first five of them are the nearest
    assert errors(walk)[0] == pytest.approx(np.hypot(*PLACES[[0, 1, 2, 0, 1]].mean(0)))
