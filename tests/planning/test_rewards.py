"""Rewards of any size that a table accepts give the right values; larger ones are refused."""

import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.planning.models import assert_sound
from tests.planning.test_experience import snapshot
from vast.planning import TransitionTable
from vast.planning.arguments import Columns
from vast.planning.table import Queue

discounts = st.sampled_from([0.0, 0.5, 0.9, 0.99, 0.999, 0.9999]) | st.floats(0, 0.9999)
shares = st.builds(
    lambda sign, exponent: sign * 10.0**exponent, st.sampled_from([-1, 1]), st.floats(-110, 0)
)
"""of the largest reward: down to a millionth of min_priority"""
queues = st.sampled_from(["bucketed", "exact"])


def error(table: TransitionTable, value: float) -> float:
    """By how much a value may be off: what is not propagated, once per step of the horizon."""
    horizon = 1 / (1 - table.discount)
    noise = 2 * sys.float_info.epsilon * horizon
    return horizon * (max(table.min_priority, noise * abs(value)) + 1e-15 * abs(value))


@given(discount=discounts, share=shares, queue=queues, length=st.integers(1, 6))
def test_values_are_exact_for_any_reward_that_is_accepted(
    discount: float, share: float, queue: Queue, length: int
) -> None:
    table = TransitionTable(1, discount, queue=queue)
    reward = share * table.max_reward
    table.add(0, 0, reward, 0)
    for s in range(length):
        table.add(s + 1, 0, reward if s % 2 else 0.0, s)
        table.add(s + 101, 0, reward, s + 100 if s else None)
    table.sweep()
    loop, chain = reward / (1 - discount), 0.0
    assert table.value(0) == pytest.approx(loop, rel=0, abs=error(table, loop))
    for s in range(length):
        loop = (reward if s % 2 else 0.0) + discount * loop
        chain = reward + discount * chain
        most = error(table, reward / (1 - discount))
        assert table.value(s + 1) == pytest.approx(loop, rel=0, abs=most)
        assert table.value(s + 101) == pytest.approx(chain, rel=0, abs=most)
    assert_sound(table)


@pytest.mark.parametrize("discount", [0.0, 0.9, 0.99, 0.9999])
def test_an_offset_may_triple_the_largest_reward(discount: float) -> None:
    """The mean is one reward away from 0, and the offset of `set_reward` two."""
    table = TransitionTable(1, discount)
    largest = table.max_reward
    table.add(0, 0, -largest, 0)
    table.set_reward(0, 0, largest)
    table.sweep()
    table.add(0, 0, largest, 0)
    table.delete(0, 0, -largest, 0)
    table.sweep()
    value = 3 * largest / (1 - discount)
    assert table.value(0) == pytest.approx(value, rel=0, abs=error(table, value))
    assert table.mean_reward(0, 0) == pytest.approx(3 * largest, rel=1e-12)
    assert np.isfinite(table._memory.carry).all()


@given(discount=discounts, times=st.floats(1 + 1e-9, 1e200), sign=st.sampled_from([-1, 1]))
def test_larger_rewards_are_refused_and_change_nothing(
    discount: float, times: float, sign: int
) -> None:
    table = TransitionTable(2, discount)
    table.add(1, 0, 0.5, 2)
    before = snapshot(table)
    reward = sign * times * table.max_reward
    many = ([1, 1], [0, 0], [1.0, reward], [2, 2], [False, False])
    calls: list[tuple[str, tuple[Any, ...]]] = [
        ("add", (1, 0, reward, 2)),
        ("add_many", many),
        ("set_reward", (1, 0, reward)),
    ]
    for method, arguments in calls:
        with pytest.raises(ValueError, match="reward must be a finite number up to") as refusal:
            getattr(table, method)(*arguments)
        assert str(refusal.value).endswith(f"got {reward!r}")
        assert "\n" not in str(refusal.value)
        assert snapshot(table) == before


def test_the_message_names_the_largest_reward_of_this_discount() -> None:
    table = TransitionTable(1, 0.99)
    message = r"^reward must be a finite number up to 1e\+52, got "
    wrong: Any
    for wrong in (1e53, -np.inf, 10**400, "x", [1.0]):
        with pytest.raises(ValueError, match=message):
            table.add(1, 0, wrong, 1)
        with pytest.raises(ValueError, match=message):
            table.add_many([1, 1], [0, 0], [0.0, wrong], [1, 1], [False, False])
    assert table.n_transitions == 0


def test_a_saved_table_with_larger_rewards_is_loaded_and_can_be_emptied() -> None:
    """Rewards up to 1e100 used to be accepted; without loops of states, values were often right."""
    columns: Columns = (
        np.arange(3, dtype=np.uint64),
        np.zeros(3, np.uint8),
        np.array([0.0, 1e53, -1e53]),
        np.ones(3, np.uint64),
        np.array([False, True, True]),
    )
    old = TransitionTable(1, 0.99)
    old.max_reward = 1e100
    old.add_many(*columns)
    old.sweep()
    loaded = TransitionTable(1, 0.99)
    loaded.load_state_dict(old.state_dict())
    assert loaded.value(0) == pytest.approx(0.99e53)
    loaded.delete(1, 0, 1e53, None)
    loaded.delete_many(*(column[::2] for column in columns))
    assert len(loaded) == 0
