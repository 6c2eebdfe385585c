"""A loaded table continues exactly where it was saved, and a damaged one is refused."""

import copy
import io
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from tests.planning.models import Episode, assert_sound, episodes, play, random_steps, some
from tests.planning.test_experience import snapshot
from vast.planning import TransitionTable
from vast.planning.table import Queue

QUEUES: tuple[Queue, ...] = ("bucketed", "exact")


def through_a_file(state: dict[str, Any]) -> dict[str, Any]:
    file = io.BytesIO()
    np.savez(file, **state)
    file.seek(0)
    with np.load(file, allow_pickle=False) as archive:
        return dict(archive)


@given(before=episodes(most=60), after=episodes(most=60), queue=st.sampled_from(QUEUES))
def test_a_loaded_table_behaves_bit_for_bit_as_the_one_saved(
    before: Episode, after: Episode, queue: Queue
) -> None:
    settings = (before.n_actions, before.discount, 1e-9, queue)
    table = TransitionTable(*settings)
    play(before, table)
    loaded = TransitionTable(*settings)
    loaded.load_state_dict(through_a_file(table.state_dict()))
    assert snapshot(loaded) == snapshot(table)
    assert_sound(loaded)
    events = [
        (kind, what)
        for kind, what in after.events
        if kind == "sweep" or (kind == "add" and what[1] < before.n_actions)  # type: ignore[index]
    ]
    for one in (table, loaded):
        play(Episode(before.n_actions, before.discount, events), one)
        one.sweep(30)
    assert snapshot(loaded) == snapshot(table)
    table.sweep()
    loaded.sweep()
    assert snapshot(loaded) == snapshot(table)


def test_a_large_table_continues_exactly_in_the_middle_of_a_sweep() -> None:
    rng = np.random.default_rng(0)
    keys = rng.integers(0, 2**64, 5000, np.uint64)
    table = TransitionTable(3, 0.95, 1e-6)
    table.add_many(*random_steps(rng, 20_000, keys, 3))
    table.sweep(30_000)
    loaded = TransitionTable(3, 0.95, 1e-6)
    loaded.load_state_dict(table.state_dict())
    for _ in range(20):
        more = random_steps(rng, 300, keys, 3)
        for one in (table, loaded):
            one.add_many(*more)
            one.sweep(1000)
        assert snapshot(loaded) == snapshot(table)
    np.testing.assert_array_equal(loaded.estimate(12345), table.estimate(12345))


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))])
def test_a_copied_table_is_independent(
    how: Callable[[TransitionTable], TransitionTable],
) -> None:
    table = TransitionTable(2, 0.5)
    table.add(1, 0, 0.0, 2)
    table.add(2, 1, 1.0, None)
    twin = how(table)
    for one in (table, twin):
        one.sweep()
        assert one.value(1) == 0.5
    twin.add(1, 1, 9.0, None)
    assert table.value(1) == 0.5
    assert_sound(twin)


def test_a_saved_table_is_a_copy() -> None:
    table = TransitionTable(2)
    table.add(1, 0, 1.0, 2)
    saved = table.state_dict()
    table.add(1, 1, 1.0, 2)
    loaded = TransitionTable(2)
    loaded.load_state_dict(saved)
    loaded.add(5, 1, 1.0, 2)
    again = TransitionTable(2)
    again.load_state_dict(saved)
    assert (again.count(1, 0), again.count(1, 1), again.count(5, 1)) == (1, 0, 0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_actions": 4}, "n_actions must be 4, got 3"),
        ({"discount": 0.5}, "discount must be 0.5, got 0.99"),
        ({"min_priority": 1e-3}, "min_priority must be 0.001, got 5e-05"),
        ({"queue": "exact"}, "queue must be 'exact', got 'bucketed'"),
    ],
)
def test_a_table_with_other_settings_is_refused(settings: dict[str, Any], message: str) -> None:
    saved = TransitionTable(3).state_dict()
    with pytest.raises(ValueError, match=message):
        TransitionTable(**({"n_actions": 3} | settings)).load_state_dict(saved)


def test_a_table_with_the_same_state_twice_is_refused() -> None:
    table = TransitionTable(2)
    for state in (1, 2, 3):
        table.add(state, 0, 1.0, None)
    table.delete(3, 0, 1.0, None)
    saved = table.state_dict()
    released, kept = saved["key"].tolist().index(3), saved["key"].tolist().index(1)
    saved["key"][released] = 1  # a released row, which is not in use
    TransitionTable(2).load_state_dict(saved)
    saved["key"][kept] = 2
    with pytest.raises(ValueError, match="key contradicts the rest"):
        TransitionTable(2).load_state_dict(saved)


@given(data=st.data(), queue=st.sampled_from(QUEUES))
def test_a_damaged_table_is_refused_or_harmless(data: st.DataObject, queue: Queue) -> None:
    """No value in a file can make the kernels access memory outside their arrays."""
    rng = np.random.default_rng(1)
    keys = np.arange(40, dtype=np.uint64)
    table = TransitionTable(2, 0.9, 1e-3, queue)
    columns = random_steps(rng, 200, keys, 2)
    table.add_many(*columns)
    table.delete_many(*some(columns, slice(50)))
    table.sweep(100)
    saved = table.state_dict()
    name = data.draw(st.sampled_from(sorted(saved)))
    kind = data.draw(st.sampled_from(["drop", "cut", "change"]))
    value = saved[name]
    if not isinstance(value, np.ndarray):
        saved[name] = data.draw(st.sampled_from([None, 0, -1, "x", 2**40, np.zeros(2)]))
    elif kind == "drop" or value.size == 0:
        saved[name] = np.array(0)
    elif kind == "cut":
        saved[name] = value[: data.draw(st.integers(0, len(value) - 1))]
    else:
        at = data.draw(st.integers(0, value.size - 1))
        wrong = data.draw(st.sampled_from([-(2**31), -2, -1, 5, 77, 2**31 - 1]))
        saved[name].flat[at] = value.dtype.type(np.int64(wrong))
    loaded = TransitionTable(2, 0.9, 1e-3, queue)
    loaded.add(1, 1, 1.0, None)
    before = snapshot(loaded)
    try:
        loaded.load_state_dict(saved)
    except ValueError as error:
        event(str(error))
        refused = True
    else:
        refused = False
    if refused:
        assert snapshot(loaded) == before
        return
    loaded.add_many(*columns)
    loaded.sweep(10_000)
    loaded.delete_many(*columns)
    loaded.estimate_many(keys)
