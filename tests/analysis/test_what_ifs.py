"""What-ifs, against value iteration on the changed model; and where greedy actions lead."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from vast.analysis.states import States, collect
from vast.analysis.what_ifs import (
    best_goal,
    greedy_path,
    move_goal,
    reverse_rewards,
    usual_start,
    what_if,
)
from vast.errors import UserError
from vast.planning import TransitionTable
from vast.replay import Replay

DISCOUNT = 0.9
LEFT, RIGHT = 0, 1


def corridor(length: int = 12, cost: float = -0.01) -> tuple[TransitionTable, States]:
    """States 1 to `length` in a row; right of the last a goal pays 1, left of the first -1."""
    table = TransitionTable(2, DISCOUNT, 1e-9)
    for state in range(1, length + 1):
        for action, step in ((LEFT, -1), (RIGHT, 1)):
            following = state + step
            paid = {0: -1.0, length + 1: 1.0}.get(following, cost)
            for _ in range(3):
                table.add(state, action, paid, None if paid != cost else following)
    table.sweep()
    states = collect(table)
    pose = np.column_stack([states.keys, np.zeros(len(states)), np.full(len(states), np.nan)])
    return table, replace(states, pose=pose.astype(np.float64))


def iterated(length: int, cost: float, left: float, right: float) -> NDArray[np.float64]:
    """V of the states of the corridor by value iteration, for other rewards at its ends."""
    v = np.zeros(length)
    for _ in range(1000):
        go_left = np.concatenate([[left], cost + DISCOUNT * v[:-1]])
        go_right = np.concatenate([cost + DISCOUNT * v[1:], [right]])
        v = np.maximum(go_left, go_right)
    return v


def test_reversed_rewards_give_the_values_of_value_iteration_and_leave_the_table_alone() -> None:
    table, states = corridor()
    saved = table.state_dict()
    found = what_if(table, states, reverse_rewards, "reversed", start=6)
    np.testing.assert_allclose(found.before, iterated(12, -0.01, -1, 1), atol=1e-7)
    np.testing.assert_allclose(found.after, iterated(12, -0.01, 1, -1), atol=1e-7)
    assert found.changed == 2
    assert found.backups > 10
    assert found.paths is not None
    before, after = found.paths
    assert before.states.tolist() == [6, 7, 8, 9, 10, 11, 12]
    assert after.states.tolist() == [6, 5, 4, 3, 2, 1]
    assert before.end == after.end == "terminal"
    now = table.state_dict()
    for name, value in saved.items():
        np.testing.assert_array_equal(now[name], value)


def test_where_ends_pay_nothing_all_rewards_are_reversed() -> None:
    table = TransitionTable(1, DISCOUNT, 1e-9)
    table.add_many([1, 2, 3], [0, 0, 0], [2.0, -4.0, 0.0], [2, 3, 0], [False, False, True])
    found = what_if(table, collect(table), reverse_rewards, "reversed")
    np.testing.assert_allclose(found.before, [2 - 4 * DISCOUNT, -4, 0])
    np.testing.assert_allclose(found.after, -found.before)
    assert found.paths is None


def test_a_goal_that_moved_pays_at_the_other_end_and_no_longer_here() -> None:
    table, states = corridor()
    goal, reward = best_goal(states)
    assert states.keys[goal].tolist() == [12]
    assert reward == 1
    found = what_if(table, states, move_goal, "moved", start=6)
    # State 1 is farthest from the goal: there every action now ends the episode with its reward.
    expected = iterated(11, -0.01, 0.0, 0.0)
    for _ in range(1000):
        go_left = -0.01 + DISCOUNT * np.concatenate([[1.0], expected[:-1]])
        go_right = np.concatenate([-0.01 + DISCOUNT * expected[1:], [0.0]])
        expected = np.maximum(go_left, go_right)
    np.testing.assert_allclose(found.after, [1.0, *expected], atol=1e-7)
    assert found.paths is not None
    assert found.paths[1].states.tolist() == [6, 5, 4, 3, 2, 1]


def test_a_goal_cannot_move_if_there_is_none_or_its_place_is_unknown() -> None:
    table, states = corridor()
    nowhere = replace(states, pose=np.full((len(states), 3), np.nan))
    with pytest.raises(UserError, match="no episode ended with a reward at a known place"):
        what_if(table, nowhere, move_goal, "moved")
    poor = TransitionTable(1)
    poor.add(1, 0, -1.0, None)
    with pytest.raises(UserError, match="no episode ended with a reward"):
        move_goal(poor, collect(poor))


def test_a_greedy_path_follows_what_was_met_most_often_and_never_stands_still() -> None:
    table = TransitionTable(2, DISCOUNT, 1e-9)
    for _ in range(5):
        table.add(1, 0, 0.0, 1)  # mostly nothing happens ...
    for _ in range(2):
        table.add(1, 0, 0.0, 2)  # ... sometimes it leads on ...
    table.add(1, 0, 0.0, 3)  # ... once elsewhere
    table.add(1, 1, -5.0, None)
    table.add(2, 0, 1.0, 4)
    table.sweep()
    path = greedy_path(table, 1)
    assert path.states.tolist() == [1, 2, 4]
    assert path.end == "open"
    table.add(4, 0, 0.0, 2)
    table.sweep()
    assert greedy_path(table, 1).end == "loop"
    assert greedy_path(table, 99).states.tolist() == [99]


def test_of_successors_met_equally_often_the_best_is_on_the_path() -> None:
    table = TransitionTable(1, DISCOUNT, 1e-9)
    table.add_many([1, 1, 2, 3], [0] * 4, [0, 0, -1.0, 1.0], [2, 3, 0, 0], [False] * 2 + [True] * 2)
    table.sweep()
    assert greedy_path(table, 1).states.tolist() == [1, 3]


def test_the_usual_start_is_where_most_episodes_began_that_can_end() -> None:
    table = TransitionTable(1)
    replay = Replay(100, (1,), 1, table=table)
    blank = np.zeros(1, np.uint8)
    for first, ends in ((5, False), (5, False), (5, False), (6, True), (6, True), (7, True)):
        at = replay.begin(blank)
        second = replay.append(0, 0.0, blank)
        replay.assign([at, second], np.array([first, 8 if ends else 9], np.uint64))
        if ends:
            replay.end_terminal(0, 1.0)
        else:
            replay.end_truncated()
    table.sweep()
    assert usual_start(table, collect(table, replay), replay) == 6
    assert usual_start(table, collect(TransitionTable(1)), replay) is None
