"""Adding, deleting and reading: the contents of a table."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given

from tests.planning.models import (
    CountedModel,
    Episode,
    Step,
    as_steps,
    assert_counts,
    assert_solved,
    assert_sound,
    episodes,
    play,
    random_steps,
    some,
)
from vast.planning import TransitionTable
from vast.planning.memory import MAX_COUNT, N_FREE, SLOTS, TRANSITIONS


def snapshot(table: TransitionTable) -> dict[str, bytes]:
    return {name: np.asarray(value).tobytes() for name, value in table.state_dict().items()}


@given(episode=episodes())
def test_adding_then_deleting_leaves_an_empty_table(episode: Episode) -> None:
    table = TransitionTable(episode.n_actions, episode.discount)
    model = play(episode, table)
    for step in model.steps:
        table.delete(*step)
    assert (len(table), table.n_transitions, table.queue_length) == (0, 0, 0)
    assert len(table.states()) == len(table.transitions().states) == 0
    assert (table.estimate(0)[1] == -1).all()
    assert table._memory.meta[N_FREE] == table._memory.meta[SLOTS]
    assert_sound(table)


def test_what_was_added_can_be_read_back() -> None:
    table = TransitionTable(3, 0.5, 1e-9)
    table.add(7, 0, 1.0, 8)
    table.add(7, 0, 0.0, 8)
    table.add(7, 0, 0.5, 9)
    table.add(7, 2, -1.0, None)
    table.add(8, 1, 2.0, None)
    table.sweep()
    assert (table.count(7, 0), table.count(7, 1), table.count(7, 2)) == (3, 0, 1)
    assert table.mean_reward(7, 0) == pytest.approx(0.5)
    assert np.isnan(table.mean_reward(7, 1))
    np.testing.assert_allclose(table.q(7), [0.5 + 0.5 * 2 / 3 * 2, np.nan, -1.0])
    assert np.isnan(table.q(9)).all()
    assert table.value(9) == table.value(1234) == 0.0
    assert sorted(table.states().tolist()) == [7, 8]
    assert (len(table), table.n_transitions) == (2, 5)
    forward = table.successors(7)
    assert sorted(
        zip(forward.actions, forward.next_states, forward.terminals, forward.counts, strict=True)
    ) == [(0, 8, False, 2), (0, 9, False, 1), (2, 0, True, 1)]
    assert (forward.states == 7).all()
    backward = table.predecessors(8)
    assert [column.tolist() for column in backward] == [[7], [0], [8], [False], [2]]
    assert len(table.successors(9).states) == len(table.predecessors(77).states) == 0


MISSING = [
    Step(1, 0, 0.0, 3),
    Step(1, 1, 0.0, 2),
    Step(3, 0, 0.0, 2),
    Step(1, 0, 0.0, None),
    Step(2, 0, 0.0, 1),
]


@pytest.mark.parametrize("step", MISSING)
def test_deleting_what_is_not_there_raises_and_changes_nothing(step: Step) -> None:
    table = TransitionTable(2)
    table.add(1, 0, 0.5, 2)
    table.add(2, 1, 0.5, None)
    before = snapshot(table)
    with pytest.raises(KeyError, match="not in the table"):
        table.delete(*step)
    assert snapshot(table) == before


@pytest.mark.parametrize("step", [*MISSING, Step(1, 0, 0.5, 2)])
def test_deleting_many_deletes_all_or_nothing(step: Step) -> None:
    table = TransitionTable(2)
    table.add(1, 0, 0.5, 2)
    table.add(2, 1, 0.5, None)
    before = snapshot(table)
    steps = [Step(1, 0, 0.5, 2), Step(2, 1, 0.5, None), step]
    columns: list[list[Any]] = [[s[i] or 0 for s in steps] for i in range(4)]
    columns.append([s.next_state is None for s in steps])
    with pytest.raises(KeyError, match="transition 2 from state"):
        table.delete_many(*columns)
    assert snapshot(table) == before
    table.delete_many(*(column[:2] for column in columns))
    assert len(table) == 0


def test_many_at_once_and_one_by_one_are_the_same() -> None:
    rng = np.random.default_rng(3)
    columns = random_steps(rng, 500, np.arange(40, dtype=np.uint64), 3)
    many, single = TransitionTable(3), TransitionTable(3)
    many.add_many(*columns)
    for step in as_steps(columns):
        single.add(*step)
    assert snapshot(many) == snapshot(single)
    half = some(columns, slice(250))
    many.delete_many(*half)
    for step in as_steps(half):
        single.delete(*step)
    assert snapshot(many) == snapshot(single)


@pytest.mark.slow
def test_a_table_grows_as_needed_and_reuses_what_is_released() -> None:
    rng = np.random.default_rng(4)
    table = TransitionTable(2, 0.9, 1e-9)
    keys = rng.integers(0, 2**64, 30_000, np.uint64)
    columns = random_steps(rng, 60_000, keys, 2)
    table.add_many(*columns)
    table.sweep()
    assert_sound(table)
    size = table.nbytes
    for _ in range(3):
        table.delete_many(*columns)
        assert len(table) == 0
        table.add_many(*columns)
        table.sweep()
    assert table.nbytes == size
    assert_counts(table, as_steps(columns))
    assert_sound(table)


def test_set_reward_is_a_what_if_that_lasts_as_long_as_its_pair() -> None:
    table = TransitionTable(2, 0.5, 1e-12)
    table.add(1, 0, 0.0, 2)
    table.add(2, 1, 1.0, None)
    table.add(2, 1, 0.0, None)
    table.set_reward(2, 1, 3.0)
    table.sweep()
    assert table.mean_reward(2, 1) == table.value(2) == 3.0
    assert table.value(1) == 1.5
    table.add(2, 1, 1.1, None)  # the experienced mean rises by 0.2, and the offset stays
    assert table.mean_reward(2, 1) == pytest.approx(3.2)
    table.delete(2, 1, 1.1, None)
    table.delete(2, 1, 1.0, None)
    assert table.mean_reward(2, 1) == pytest.approx(2.5)
    table.delete(2, 1, 0.0, None)
    table.add(2, 1, 0.25, None)
    assert table.mean_reward(2, 1) == table.value(2) == 0.25
    with pytest.raises(KeyError, match="never taken"):
        table.set_reward(2, 0, 1.0)
    with pytest.raises(KeyError, match="never taken"):
        table.set_reward(99, 0, 1.0)
    assert_sound(table)


BAD_CALLS: list[tuple[str, tuple[Any, ...], str]] = [
    ("add", (1, 3, 0.0, 2), "action must be between 0 and 2, got 3"),
    ("add", (1, -1, 0.0, 2), "action must be between 0 and 2, got -1"),
    ("add", (1, 0, float("nan"), 2), "reward must be a finite number .*, got nan"),
    ("delete", (1, 0, float("inf"), 2), "reward must be a finite number .*, got inf"),
    ("add", (-1, 0, 0.0, 2), r"state must be between 0 and 2\*\*64 - 1, got -1"),
    ("add", (1, 0, 0.0, 2**64), "state must be .*, got 18446744073709551616"),
    ("q", (2**64,), "state must be between 0"),
    ("estimate", (-5,), "state must be between 0"),
    ("count", (1, 9), "action must be .*, got 9"),
    ("set_reward", (1, 0, float("nan")), "reward must be .*, got nan"),
    ("sweep", (-1,), "max_backups must be 0 or more, or None, got -1"),
    ("add_many", ([1, 2], [0, 3], [0.0, 0.0], [1, 1], [False, False]), "action must .*, got 3"),
    ("add_many", ([1, -2], [0, 0], [0.0, 0.0], [1, 1], [False, False]), "state must .*, got -2"),
    ("add_many", ([1, 2], [0, 0], [0.0, np.inf], [1, 1], [False, False]), "reward must .* inf"),
    ("add_many", ([1, 2], [0, 0], [0.0], [1, 1], [False, False]), "of the same length, got shapes"),
    ("add", (1.5, 0, 0.0, 2), "state must be an integer, got 1.5"),
    ("add", (1, 0, "x", 2), "reward must be a finite number .*, got 'x'"),
    ("add_many", ([1], [0], [0.0], [2], ["False"]), "terminals must be True or False, got type"),
    ("estimate_many", (np.zeros((2, 2), np.uint64),), "states must be a one-dimensional list"),
    ("add", (1, "left", 0.0, 2), "action must be an integer, got 'left'"),
    ("add_many", ([1.5], [0], [0.0], [1], [False]), "state must be an integer, got 1.5"),
    ("add_many", (np.ones(1), [0], [0.0], [1], [False]), "integers of up to 64 bits"),
    ("delete_many", ([1], [0.5], [0.0], [1], [False]), "integers of up to 64 bits"),
]


@pytest.mark.parametrize(("method", "arguments", "message"), BAD_CALLS)
def test_wrong_values_are_refused_by_name(
    method: str, arguments: tuple[Any, ...], message: str
) -> None:
    table = TransitionTable(3)
    table.add(1, 0, 0.5, 2)
    before = snapshot(table)
    with pytest.raises(ValueError, match=message):
        getattr(table, method)(*arguments)
    assert snapshot(table) == before


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_actions": 0}, "n_actions must be between 1 and 256, got 0"),
        ({"n_actions": 257}, "n_actions must be between 1 and 256, got 257"),
        ({"n_actions": 2.5}, "n_actions must be an integer, got 2.5"),
        ({"discount": 1.0}, "discount must be at least 0 and below 1, got 1.0"),
        ({"discount": -0.1}, "discount must be"),
        ({"min_priority": 0.0}, "min_priority must be above 0 and finite, got 0.0"),
        ({"min_priority": -1.0}, "min_priority must be"),
        ({"min_priority": float("nan")}, "min_priority must be"),
        ({"queue": "heap"}, "queue must be one of bucketed, exact, got 'heap'"),
    ],
)
def test_wrong_settings_are_refused_by_name(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TransitionTable(**({"n_actions": 2} | settings))


def test_all_256_actions_work() -> None:
    table = TransitionTable(256, 0.9, 1e-9)
    for action in range(256):
        table.add(5, action, action / 256, None)
        table.add(action + 10, 255 - action, 0.0, 5)
    table.sweep()
    np.testing.assert_allclose(table.q(5), np.arange(256) / 256)
    assert table.value(10) == pytest.approx(0.9 * 255 / 256)
    assert table.estimate(5)[1].tolist() == [0] * 256
    assert_sound(table)


def test_keys_of_any_integer_type_are_the_same_state() -> None:
    table = TransitionTable(1)
    step: Any = (np.uint64(2**64 - 1), np.int8(0), np.float32(1.0), np.int64(3))
    table.add(*step)
    assert table.count(2**64 - 1, 0) == 1
    table.add_many([2**64 - 1, 1], [0, 0], [1, 0], [3, 3], [0, 0])
    assert table.count(2**64 - 1, 0) == 2
    table.add_many([], [], [], [], [])


def test_a_count_that_would_overflow_is_refused() -> None:
    table = TransitionTable(1)
    table.add(1, 0, 0.0, 2)
    table._memory.n[:, 0] = MAX_COUNT
    with pytest.raises(OverflowError, match="at most 134217727"):
        table.add(1, 0, 0.0, 2)


def test_transitions_are_not_added_if_one_count_would_overflow() -> None:
    table = TransitionTable(2, 0.5)
    table.add(1, 0, 0.0, None)
    table.add(2, 1, 3.0, 1)
    table.add(1, 1, 1.0, 2)
    table.sweep()
    m = table._memory
    m.n[m.terminal > 0] = m.terminal[m.terminal > 0] = MAX_COUNT - 1
    m.meta[TRANSITIONS] += MAX_COUNT - 2
    assert_sound(table)
    before = table.transitions()
    values = [table.q(state) for state in (1, 2)]
    with pytest.raises(OverflowError):
        table.add_many(
            [8, 2, 1, 1, 7], [0, 1, 0, 0, 0], np.arange(5.0), [9, 8, 0, 0, 7], [0, 0, 1, 1, 0]
        )
    assert_sound(table)
    for old, new in zip(before, table.transitions(), strict=True):
        np.testing.assert_array_equal(new, old)
    assert (len(table), table.n_transitions, table.queue_length) == (2, MAX_COUNT + 1, 0)
    np.testing.assert_allclose([table.q(state) for state in (1, 2)], values, atol=1e-12)
    assert np.isnan(table.q(8)).all()
    assert table.mean_reward(2, 1) == 3.0


@pytest.mark.slow
def test_ten_million_operations_leave_no_drift_and_no_growth() -> None:
    """Counts repeatedly grow to thousands and shrink to a few."""
    rng = np.random.default_rng(5)
    keys = rng.integers(0, 2**64, 25, np.uint64)
    table = TransitionTable(2, 0.99, 1e-12)
    kept = random_steps(rng, 200, keys, 2)
    table.add_many(*kept)
    size = 0
    operations = 0
    while operations < 10_000_000:
        passing = random_steps(rng, 200_000, keys, 2)
        order = rng.permutation(200_000)
        for part in np.split(np.arange(200_000), 50):
            table.add_many(*some(passing, part))
            table.sweep(2000)
        for part in np.split(order, 50):
            table.delete_many(*some(passing, part))
            table.sweep(2000)
        operations += 400_000
        size = size or table.nbytes
    assert table.nbytes == size
    model = CountedModel(2, 0.99)
    model.steps = as_steps(kept)
    table.sweep()
    assert_counts(table, model.steps)
    assert_solved(table, model)
    for state, action, *_ in model.steps:
        mean = model.mean_reward(state, action)
        assert table.mean_reward(state, action) == pytest.approx(mean, abs=1e-12)


def test_all_pairs_are_listed_with_what_single_calls_tell() -> None:
    rng = np.random.default_rng(5)
    table = TransitionTable(n_actions=3)
    for _ in range(200):
        s, a, t = int(rng.integers(30)), int(rng.integers(3)), int(rng.integers(40))
        table.add(s, a, float(rng.normal()), t if rng.random() < 0.9 else None)
    state, action = 3, int(np.flatnonzero([table.count(3, a) for a in range(3)])[0])
    table.set_reward(state, action, 0.25)
    table.sweep()
    pairs = table.pairs()
    assert len(set(pairs.states.tolist())) == len(pairs.states)
    assert set(table.states().tolist()) <= set(pairs.states.tolist())
    for i, key in enumerate(pairs.states.tolist()):
        np.testing.assert_array_equal(pairs.q[i], table.q(key))
        for a in range(3):
            assert pairs.counts[i, a] == table.count(key, a)
            np.testing.assert_allclose(pairs.rewards[i, a], table.mean_reward(key, a))
        assert abs(pairs.propagated[i] - table.value(key)) <= table.min_priority
