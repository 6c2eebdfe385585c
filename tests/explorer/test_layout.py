"""A map for tasks without coordinates: near in steps is near on the map, and always the same."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import spearmanr

from tests.explorer.worlds import grid_view, key
from vast.explorer.layout import layout
from vast.explorer.view import view_of_table


def grid(side: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    number = np.arange(side * side)
    right, down = number[number % side < side - 1], number[number < side * (side - 1)]
    return np.concatenate([right, down]), np.concatenate([right + 1, down + side])


def test_a_square_grid_is_drawn_as_a_square() -> None:
    side = 12
    places = layout(*grid(side), side * side)
    x, y = np.divmod(np.arange(side * side), side)
    steps = np.abs(x[:, None] - x) + np.abs(y[:, None] - y)
    far = np.hypot(*(places[:, None] - places).transpose(2, 0, 1))
    assert spearmanr(steps.ravel(), far.ravel()).statistic > 0.9


def test_a_line_is_drawn_in_order() -> None:
    places = layout(np.arange(99), np.arange(1, 100), 100)
    along = np.abs(places - places[0]).sum(axis=1)
    assert (np.diff(along) > 0).all()


def test_the_same_graph_gives_the_same_map() -> None:
    np.testing.assert_array_equal(layout(*grid(9), 81), layout(*grid(9), 81))


@pytest.mark.parametrize("n", [1, 2, 5])
def test_states_without_transitions_have_places_of_their_own(n: int) -> None:
    none = np.empty(0, np.int64)
    assert len(np.unique(layout(none, none, n), axis=0)) == n


def test_components_do_not_overlap() -> None:
    sources, targets = grid(5)
    starts, ends = (np.concatenate([rows, rows + 25]) for rows in (sources, targets))
    places = layout(starts, ends, 52)
    boxes = [(places[part].min(0), places[part].max(0)) for part in (slice(0, 25), slice(25, 50))]
    (low, high), (other_low, other_high) = boxes
    assert (high < other_low).any() or (other_high < low).any()
    assert np.isfinite(places).all()


def test_states_with_equal_distances_do_not_coincide() -> None:
    """A star: all leaves are two steps from each other."""
    places = layout(np.zeros(60, np.int64), np.arange(1, 61), 61)
    assert len(np.unique(places.round(9), axis=0)) == 61


def test_a_table_without_poses_gets_a_layout() -> None:
    view = view_of_table(grid_view(6, 4).table)
    assert not view.places.measured
    assert np.isfinite(view.places.at).all()
    row = view.places.rows([key(0, 0), key(5, 3), key(1, 0)])
    corner, opposite, beside = view.places.at[row]
    assert np.hypot(*(corner - opposite)) > 2 * np.hypot(*(corner - beside))
