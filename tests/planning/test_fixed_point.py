"""Sweeping converges to value iteration on the counted model, whatever was done before."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

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
from vast.planning import ReferenceTable, TransitionTable
from vast.planning.table import Queue

FINE = 1e-12
QUEUES: tuple[Queue, ...] = ("bucketed", "exact")


@given(episode=episodes(), queue=st.sampled_from(QUEUES))
def test_any_interleaving_ends_at_the_fixed_point_of_value_iteration(
    episode: Episode, queue: Queue
) -> None:
    table = TransitionTable(episode.n_actions, episode.discount, FINE, queue)
    model = play(episode, table)
    assert_sound(table)
    assert_counts(table, model.steps)
    table.sweep()
    assert table.queue_length == 0
    assert_sound(table)
    assert_solved(table, model)


@given(episode=episodes(max_discount=0.9))
def test_kernels_agree_with_the_plain_python_reference(episode: Episode) -> None:
    table = TransitionTable(episode.n_actions, episode.discount, FINE)
    model = play(episode, table)
    reference = ReferenceTable(episode.n_actions, episode.discount, FINE)
    for step in model.steps:
        reference.add(*step)
    for (state, action), offset in model.offsets.items():
        # The reference has no set_reward: the same change, as a part of one reward.
        count = reference.n[state, action]
        _, _, reward, next_state = next(s for s in model.steps if s[:2] == (state, action))
        reference.delete(state, action, reward, next_state)
        reference.add(state, action, reward + offset * count, next_state)
    table.sweep()
    reference.sweep()
    for state in reference.v.copy():
        np.testing.assert_allclose(table.q(state), reference.q(state), rtol=0, atol=1e-9)
        assert table.value(state) == pytest.approx(reference.value(state), abs=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_the_exact_queue_follows_the_algorithm_backup_by_backup(seed: int) -> None:
    rng = np.random.default_rng(seed)
    keys = rng.integers(0, 2**64, 40, np.uint64)
    table = TransitionTable(3, 0.95, 1e-6, queue="exact")
    reference = ReferenceTable(3, 0.95, 1e-6)
    for step in as_steps(random_steps(rng, 300, keys, 3)):
        table.add(*step)
        reference.add(*step)
    compared = 0
    while len(reference._priority) > 1 and compared < 300:
        first, second = sorted(reference._priority.values())[:-3:-1]
        if first - second < 1e-9:
            break  # almost equal: rounding decides which comes first
        assert table.sweep(1) == reference.sweep(1)
        for state in keys.tolist():
            np.testing.assert_allclose(table.q(state), reference.q(state), rtol=0, atol=1e-12)
        compared += 1
    assert compared > 20


def test_the_exact_queue_always_sweeps_from_the_largest_change() -> None:
    rng = np.random.default_rng(0)
    keys = np.arange(30, dtype=np.uint64)
    table = TransitionTable(2, 0.95, 1e-6, queue="exact")
    table.add_many(*random_steps(rng, 400, keys, 2))
    m = table._memory
    for _ in range(300):
        change = np.abs(m.q.max(1) - m.u)[: len(keys)]
        told = m.u.copy()
        table.sweep(1)
        (swept,) = np.flatnonzero(m.u != told)
        assert change[swept] == change.max()


@pytest.mark.parametrize("queue", QUEUES)
@pytest.mark.parametrize("seed", range(3))
def test_larger_worlds_with_hubs_and_unreachable_states(seed: int, queue: Queue) -> None:
    rng = np.random.default_rng(seed)
    keys = rng.integers(0, 2**64, 150, np.uint64)
    columns = random_steps(rng, 2000, keys[:120], 4)
    states, _, _, next_states, _ = columns
    next_states[rng.random(2000) < 0.3] = keys[0]
    states[:100] = rng.choice(keys[120:], 100)
    table = TransitionTable(4, 0.99, FINE, queue)
    table.add_many(*columns)
    table.sweep(1000)
    gone = rng.permutation(2000)[:700]
    table.delete_many(*some(columns, gone))
    table.sweep()
    model = CountedModel(4, 0.99)
    model.steps = as_steps(some(columns, np.delete(np.arange(2000), gone)))
    assert_sound(table)
    assert_counts(table, model.steps)
    assert_solved(table, model)


@pytest.mark.parametrize("size", [1, 2, 10, 64])
def test_rounding_neither_circles_forever_nor_moves_the_fixed_point(size: int) -> None:
    """Every state leads to every other: changes of a few units in the last place come back.

    With plain sums, some 50 * size of them keep going round at this discount.
    """
    table = TransitionTable(1, 0.99, FINE)
    for s in range(size):
        for t in range(size):
            table.add(s, 0, 1.0, t)
    table.sweep()
    for s in range(size):
        assert table.value(s) == pytest.approx(100.0, abs=1e-9)


def test_a_sweep_ends_even_with_a_tiny_min_priority() -> None:
    table = TransitionTable(1, 0.999, 1e-300)
    for s in range(20):
        table.add(s, 0, 0.3, (s + 1) % 20)
        table.add(s, 0, -0.1, s)
    table.sweep()
    assert table.value(0) == pytest.approx(100.0, abs=1e-7)


@pytest.mark.parametrize("exponent", [-30, -34, -36, -40, -60, -200, -320])
@pytest.mark.parametrize("discount", [0.5, 0.99, 0.999])
def test_a_sweep_ends_even_with_tiny_rewards(exponent: int, discount: float) -> None:
    """The carries are too small for 32 bits, and rounding could keep changes alive."""
    table = TransitionTable(1, discount, 1e-300)
    reward = 10.0**exponent
    for s in range(30):
        for t in range(30):
            table.add(s, 0, reward, t)
    assert table.sweep(20_000_000) < 20_000_000
    assert table.queue_length == 0
    error = 2e-38 / (1 - discount) ** 2
    assert table.value(0) == pytest.approx(reward / (1 - discount), rel=1e-9, abs=error)


def test_values_propagate_as_far_as_min_priority_allows() -> None:
    table = TransitionTable(1, 0.5, min_priority=0.1)
    for s in range(10):
        table.add(s, 0, 0.0, s + 1)
    table.add(10, 0, 1.0, None)
    table.sweep()
    assert [table.value(s) for s in range(10, 5, -1)] == [1.0, 0.5, 0.25, 0.125, 0.0625]
    assert table.value(5) == 0.0


def test_a_budget_is_kept_up_to_the_predecessors_of_the_last_state() -> None:
    rng = np.random.default_rng(0)
    keys = np.arange(50, dtype=np.uint64)
    table = TransitionTable(2, 0.99, 1e-9)
    table.add_many(*random_steps(rng, 500, keys, 2))
    most = max(len(table.predecessors(int(k)).states) for k in keys)
    assert table.sweep(0) == 0
    for budget in (1, 2, 7, 50, 333):
        done = table.sweep(budget)
        assert budget <= done < budget + most
    assert_sound(table)


def test_sweeping_in_parts_gives_the_same_values_as_one_sweep() -> None:
    rng = np.random.default_rng(1)
    columns = random_steps(rng, 400, np.arange(60, dtype=np.uint64), 3)
    whole, parts = TransitionTable(3, 0.9, FINE), TransitionTable(3, 0.9, FINE)
    whole.add_many(*columns)
    parts.add_many(*columns)
    whole.sweep()
    while parts.sweep(17):
        pass
    for s in range(60):
        np.testing.assert_allclose(whole.q(s), parts.q(s), rtol=0, atol=1e-9)


def test_a_queue_that_is_never_swept_stays_sound_and_small() -> None:
    """Each change moves states between buckets and leaves stale entries, which are removed."""
    rng = np.random.default_rng(2)
    table = TransitionTable(1, 0.99, FINE)
    model = CountedModel(1, 0.99)
    for size in 10.0 ** rng.uniform(-6, 0, 400):
        for s in range(50):
            step = Step(s, 0, float(size), s + 1)
            table.add(*step)
            table.delete(*step)
            table.add(s, 0, float(-size), s + 1)
            model.steps.append(Step(s, 0, float(-size), s + 1))
    assert_sound(table)
    assert len(table._memory.chunk) < 1000
    table.sweep()
    assert_solved(table, model)


@pytest.mark.slow
def test_a_hub_with_a_hundred_thousand_predecessors() -> None:
    n = 100_000
    states = np.arange(1, n + 1, dtype=np.uint64)
    table = TransitionTable(2, 0.9, 1e-6)
    columns = (states, np.zeros(n, int), np.zeros(n), np.zeros(n, np.uint64), np.zeros(n, bool))
    table.add_many(*columns)
    table.add(0, 1, 1.0, None)
    assert table.sweep() == n
    assert table.value(1) == table.value(n) == pytest.approx(0.9)
    assert len(table.predecessors(0).states) == n
    table.delete_many(*columns)
    table.delete(0, 1, 1.0, None)
    assert (len(table), table.n_transitions) == (0, 0)
