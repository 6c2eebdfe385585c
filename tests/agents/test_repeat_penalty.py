"""The repeat penalty leaves a loop that a greedy policy would stay in, and changes no more."""

import numpy as np

from vast.agents.vast.extensions.repeat_penalty import RepeatPenalty
from vast.planning import TransitionTable

GAMMA = 0.9


def two_rooms() -> TransitionTable:
    """Return a table in which action 0 promises more than action 1, by old luck."""
    table = TransitionTable(2, GAMMA, 1e-9)
    for state in (0, 1):
        table.add(state, 0, 1.0, None)
        table.add(state, 1, 0.95, None)
    table.sweep()
    return table


def test_an_action_that_leads_back_is_given_up_for_the_next_best() -> None:
    table = two_rooms()
    penalty = RepeatPenalty(table, 0.3)
    seen = {state: np.full(3, state, np.uint8) for state in (0, 1)}
    state, chosen = 0, []
    for _ in range(8):
        q = penalty.adjust(table.estimate(state)[0], state, seen[state])
        action = int(q.argmax())
        penalty.record(state, seen[state], action)
        chosen.append(action)
        if action == 1:
            break
        state = 1 - state  # whatever the table says, action 0 leads back
    assert chosen[:2] == [0, 0]
    assert chosen[-1] == 1


def test_nothing_changes_without_a_repetition() -> None:
    table = two_rooms()
    q = table.estimate(0)[0]
    here, there = np.zeros(3, np.uint8), np.ones(3, np.uint8)
    penalty = RepeatPenalty(table, 1.0)
    penalty.record(0, there, 0)
    # another observation of the same state: in a corridor, going on is right
    np.testing.assert_array_equal(penalty.adjust(q, 0, here), q)
    assert (penalty.adjust(q, 0, there) != q).any()
    np.testing.assert_array_equal(penalty.for_policy().adjust(q, 0, there), q)
    penalty.begin_episode()
    np.testing.assert_array_equal(penalty.adjust(q, 0, there), q)


def test_by_state_another_observation_of_it_is_the_same_again() -> None:
    table = two_rooms()
    q = table.estimate(0)[0]
    here, there = np.zeros(3, np.uint8), np.ones(3, np.uint8)
    penalty = RepeatPenalty(table, 1.0, "state")
    penalty.record(0, there, 0)
    assert (penalty.adjust(q, 0, here) != q).any()
    np.testing.assert_array_equal(penalty.adjust(q, 1, there), q)
