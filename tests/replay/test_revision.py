"""The table always holds the transitions between the assigned states."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.planning.models import Step, assert_counts, assert_sound
from tests.replay.models import N_ACTIONS, Event, Life, as_triples, lives, make
from vast.planning import ReferenceTable, TransitionTable
from vast.replay import Replay


def number(*values: int) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    return np.array(values, np.uint64)


def assert_rewards(table: TransitionTable, steps: list[Step]) -> None:
    for state, action in {step[:2] for step in steps}:
        rewards = [step.reward for step in steps if step[:2] == (state, action)]
        assert table.mean_reward(state, action) == pytest.approx(np.mean(rewards), abs=1e-12)


@given(
    events=lives,
    capacity=st.integers(4, 12),
    history=st.integers(0, 2),
    delete_evicted=st.booleans(),
)
def test_the_table_is_that_of_the_assignments_and_of_the_frames_evicted(
    events: list[Event], capacity: int, history: int, delete_evicted: bool
) -> None:
    table = TransitionTable(N_ACTIONS)
    life = Life(make(capacity, history, table, delete_evicted=delete_evicted), table)
    for event in events:
        life.do(event)
        assert_counts(table, life.counted())
        assert_rewards(table, life.counted())
    assert_sound(table)
    stored = range(life.oldest, len(life.seen))
    states, encoded = life.replay.states(list(stored))
    assert encoded.tolist() == [life.seen[i].state is not None for i in stored]
    assert states.tolist() == [life.seen[i].state or 0 for i in stored]


def test_the_example_of_the_paper() -> None:
    """A -> B -> C; the observation of B is then assigned to D (section 2.3)."""
    a, b, c, d = 10, 11, 12, 13
    table = TransitionTable(N_ACTIONS)
    replay = make(table=table)
    replay.begin(np.zeros(2, np.uint8))
    for _ in range(2):
        replay.append(1, 0.5, np.zeros(2, np.uint8))
    replay.assign([0, 1, 2], number(a, b, c))
    assert_counts(table, [Step(a, 1, 0.5, b), Step(b, 1, 0.5, c)])
    revision = replay.reassign([1], number(d))
    assert_counts(table, [Step(a, 1, 0.5, d), Step(d, 1, 0.5, c)])
    assert sorted(as_triples(revision.deleted)) == [(a, 1, b), (b, 1, c)]
    assert sorted(as_triples(revision.added)) == [(a, 1, d), (d, 1, c)]
    assert (revision.frames, revision.changed, revision.share) == (1, 1, 1.0)
    assert replay.reassign([1, 2], number(d, c)).share == 0.0


def test_a_terminal_transition_enters_when_its_frame_is_encoded_before_or_after_the_end() -> None:
    for early in (True, False):
        table = TransitionTable(N_ACTIONS)
        replay = make(table=table)
        replay.begin(np.zeros(2, np.uint8))
        if early:
            replay.assign([0], number(7))
        replay.end_terminal(2, 1.0)
        if not early:
            assert table.n_transitions == 0
            replay.assign([0], number(7))
        assert_counts(table, [Step(7, 2, 1.0, None)])
        assert table.mean_reward(7, 2) == 1.0
        replay.reassign([0], number(8))
        assert_counts(table, [Step(8, 2, 1.0, None)])


def test_a_truncated_episode_has_a_last_successor_and_nothing_after_it() -> None:
    table = TransitionTable(N_ACTIONS)
    replay = make(table=table)
    replay.begin(np.zeros(2, np.uint8))
    replay.append(0, 0.0, np.zeros(2, np.uint8))
    replay.end_truncated()
    replay.begin(np.zeros(2, np.uint8))
    replay.assign([0, 1, 2], number(1, 2, 3))
    assert_counts(table, [Step(1, 0, 0.0, 2)])


def test_the_transition_out_of_an_evicted_frame_is_not_revised() -> None:
    table = TransitionTable(N_ACTIONS)
    replay = make(2, table=table)
    replay.begin(np.zeros(2, np.uint8))
    replay.append(0, 0.0, np.zeros(2, np.uint8))
    replay.assign([0, 1], number(1, 2))
    replay.append(1, 0.0, np.zeros(2, np.uint8))
    replay.assign([2], number(3))
    replay.reassign([1], number(9))
    assert_counts(table, [Step(1, 0, 0.0, 2), Step(9, 1, 0.0, 3)])


@given(events=lives, capacity=st.integers(3, 12), delete_evicted=st.booleans())
def test_a_table_that_takes_one_transition_at_a_time_gets_the_same_transitions(
    events: list[Event], capacity: int, delete_evicted: bool
) -> None:
    counts: Counter[tuple[int, int, int | None]] = Counter()

    class Plain:
        def add(self, state: int, action: int, reward: float, next_state: int | None) -> None:
            counts[state, action, next_state] += 1

        def delete(self, state: int, action: int, reward: float, next_state: int | None) -> None:
            assert counts[state, action, next_state] > 0
            counts[state, action, next_state] -= 1

    replay = Replay(capacity, (2,), N_ACTIONS, table=Plain(), delete_evicted=delete_evicted)
    life = Life(replay)
    for event in events:
        life.do(event)
        assert +counts == Counter((s, a, t) for s, a, _, t in life.counted())


@pytest.mark.parametrize("kind", [TransitionTable, ReferenceTable])
def test_if_the_table_refuses_neither_it_nor_the_replay_is_changed(
    kind: type[TransitionTable] | type[ReferenceTable],
) -> None:
    table = kind(N_ACTIONS)
    replay = Replay(9, (2,), N_ACTIONS, table=table)
    replay.begin(np.zeros(2, np.uint8))
    for _ in range(3):
        replay.append(0, 0.0, np.zeros(2, np.uint8))
    replay.assign([0, 1, 2, 3], number(1, 2, 3, 4))
    table.delete(2, 0, 0.0, 3)  # behind the replay's back
    with pytest.raises(KeyError):
        replay.reassign([0, 1, 2], number(5, 6, 7))
    assert replay.states([0, 1, 2, 3])[0].tolist() == [1, 2, 3, 4]
    table.add(2, 0, 0.0, 3)
    replay.reassign([0, 1, 2], number(5, 6, 7))
    for step in (Step(5, 0, 0.0, 6), Step(6, 0, 0.0, 7), Step(7, 0, 0.0, 4)):
        table.delete(*step)
    assert np.isnan([table.q(s)[0] for s in range(8)]).all()


def test_a_reward_that_was_set_survives_a_new_successor() -> None:
    table = TransitionTable(N_ACTIONS)
    replay = make(table=table)
    replay.begin(np.zeros(2, np.uint8))
    replay.append(0, 0.0, np.zeros(2, np.uint8))
    replay.assign([0, 1], number(1, 2))
    table.set_reward(1, 0, 5.0)
    replay.reassign([1], number(3))
    assert table.mean_reward(1, 0) == 5.0
