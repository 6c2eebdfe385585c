"""Fig. 1A, B: planning in a table teaches the right arm what episodic control cannot."""

import numpy as np
import pytest

from vast.envs.tmaze2d import HALF_WIDTH, inside
from vast.experiments.two_episodes import keys, rounded, run, tabulate


def test_the_episodes_are_those_of_the_figure() -> None:
    first, second = run().episodes
    assert first.observations[0, 0] > HALF_WIDTH
    assert not first.terminated
    assert first.rewards.sum() == 0
    assert second.observations[0, 0] < -HALF_WIDTH
    assert second.terminated
    assert second.rewards.tolist() == [0] * (len(second.rewards) - 1) + [1]


def test_the_episodes_share_no_observation_but_some_cells() -> None:
    data = run()
    first, second = ({tuple(point) for point in e.observations} for e in data.episodes)
    assert not first & second
    assert data.shared.any()
    assert not data.shared.all()
    assert all(inside(x, y) for x, y in data.cells)


def test_the_right_arm_learns_by_planning_and_not_by_episodes() -> None:
    data = run()
    right = data.cells[:, 0] > HALF_WIDTH
    assert right.sum() >= 4
    assert (data.cell_values[right] > 0.2).all()
    assert (data.episodic_values[0] == 0).all()
    assert (data.episodic_values[1] > 0).all()


def test_without_the_second_episode_nothing_is_known() -> None:
    data = run()
    table = tabulate(data.episodes[:1], 0.95)
    table.sweep()
    assert all(table.value(key) == 0 for key in keys(data.cells).tolist())


def test_values_fall_by_the_discount_with_each_step_on_the_best_path() -> None:
    """On the way the table knows, a cell's value is the discounted value of its best successor."""
    data = run()
    table = tabulate(data.episodes, 0.95)
    table.sweep()
    for cell in keys(data.cells).tolist():
        after = table.successors(cell)
        values = [
            sum(
                (1.0 if end else 0.95 * table.value(int(s))) * n
                for s, end, n in zip(
                    after.next_states[chosen],
                    after.terminals[chosen],
                    after.counts[chosen],
                    strict=True,
                )
            )
            / after.counts[chosen].sum()
            for chosen in (after.actions == a for a in np.unique(after.actions))
        ]
        assert table.value(cell) == pytest.approx(max(values, default=0.0), abs=1e-4)


def test_rounding_is_to_the_nearest_cell() -> None:
    np.testing.assert_array_equal(rounded(np.array([[0.4, -2.6]])), [[0.0, -3.0]])
    around = np.array([[0.0, 1.0], [1.0, 0.0], [-1.0, 0.0], [0.0, -1.0]])
    assert len(np.unique(keys(around))) == 4
