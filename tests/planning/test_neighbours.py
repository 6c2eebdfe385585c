"""The neighbour estimate equals a brute-force search."""

import copy
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.planning.models import KEYS, Episode, episodes, play, random_steps
from vast.planning import ReferenceTable, TransitionTable
from vast.planning.hamming import PROBE_1, PROBE_2


def brute_force(table: TransitionTable, state: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Compare with every state, and average over the nearest in which the action was taken."""
    states = table.states()
    q = table._memory.q
    rows = [table._find(int(s)) for s in states]
    known, n = q[rows], table._memory.n[rows]
    far = np.bitwise_count(states ^ np.uint64(state)).astype(int)
    values, distances = np.zeros(table.n_actions), np.full(table.n_actions, -1)
    for a in range(table.n_actions):
        if (n[:, a] > 0).any():
            distances[a] = far[n[:, a] > 0].min()
            shell = (n[:, a] > 0) & (far == distances[a])
            values[a] = np.average(known[shell, a], weights=n[shell, a])
    return values, distances


@given(
    steps=st.lists(st.tuples(st.integers(0, 2**64 - 1), st.integers(0, 3), st.floats(-1, 1))),
    near=st.integers(0, 2**64 - 1),
    flips=st.sets(st.integers(0, 63), max_size=4),
    width=st.sampled_from([0.0, 0.1, 0.5, 1.0, 3.0, 20.0]),
    caution=st.sampled_from([0.0, 0.0, 1.0, 4.0]),
)
def test_it_agrees_with_the_reference(
    steps: list[tuple[int, int, float]], near: int, flips: set[int], width: float, caution: float
) -> None:
    table, reference = TransitionTable(5), ReferenceTable(5)
    for state, action, reward in steps:
        table.add(state, action, reward, None)
        reference.add(state, action, reward, None)
    for state in {near, *(s for s, *_ in steps)}:
        for query in (state, state ^ sum(1 << bit for bit in flips)):
            q, distance = table.estimate(query, width, caution)
            wanted_q, wanted_distance = reference.estimate(query, width, caution)
            np.testing.assert_array_equal(distance, wanted_distance)
            # The variance of equal values is a rounding error, and its square root is larger.
            rounding = 1e-7 if caution else 1e-12
            np.testing.assert_allclose(q, wanted_q, rtol=rounding, atol=rounding)


@pytest.mark.parametrize(
    "n_states", [300, 2 * PROBE_1, pytest.param(2 * PROBE_2, marks=pytest.mark.slow)]
)
def test_every_way_of_searching_finds_the_nearest(n_states: int) -> None:
    """Few, many and very many states are searched differently; codes cluster as real ones do."""
    rng = np.random.default_rng(n_states)
    keys = rng.integers(0, 2**22, n_states, np.uint64)
    table = TransitionTable(3, 0.9, 1e-3)
    columns = random_steps(rng, 2 * n_states, keys, 2)
    table.add_many(*columns)
    table.add(int(keys[0]), 2, 1.0, None)  # one action was taken in a single state
    table.sweep()
    bits = np.uint64(1) << rng.integers(0, 64, (60, 6), np.uint64)
    queries = [int(keys[i] ^ np.bitwise_xor.reduce(bits[i, : i % 7])) for i in range(60)]
    many_q, many_distance = table.estimate_many(queries)
    for i, query in enumerate(queries):
        wanted_q, wanted_distance = brute_force(table, query)
        q, distance = table.estimate(query)
        np.testing.assert_array_equal(distance, wanted_distance)
        np.testing.assert_allclose(q, wanted_q, rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(many_q[i], q)
        np.testing.assert_array_equal(many_distance[i], distance)
    assert {0, 1, 2}.issubset(set(many_distance[:, 0]) | set(many_distance[:, 1]))


@given(episode=episodes(max_discount=0.9, most=50), swept=st.booleans(), data=st.data())
def test_it_is_the_q_of_an_aggregate_state(
    episode: Episode, swept: bool, data: st.DataObject
) -> None:
    """Supplement, "Details to Q-value estimation": Q~(s, a) = Q(s_m, a).

    The aggregate s_m has all experience that its members, the nearest states in which a was taken,
    have with a. Each action has members of its own. The identity holds at any moment of a sweep.
    """
    table = TransitionTable(episode.n_actions, episode.discount, 1e-12)
    model = play(episode, table)
    if swept:
        table.sweep()
    query = data.draw(st.sampled_from(KEYS) | st.integers(0, 2**64 - 1))
    estimate, distance = table.estimate(query)
    aggregate = 12345  # no state of the episode
    with_aggregate = copy.deepcopy(table)
    for action in range(episode.n_actions):
        taken = [step for step in model.steps if step.action == action]
        nearest = min(((query ^ step.state).bit_count() for step in taken), default=-1)
        assert distance[action] == nearest
        for state, _, reward, next_state in taken:
            if (query ^ state).bit_count() == nearest:
                # What `set_reward` added to the mean belongs to every experience.
                reward += model.offsets.get((state, action), 0.0)
                with_aggregate.add(aggregate, action, reward, next_state)
    for _ in range(2):
        q = with_aggregate.q(aggregate)
        np.testing.assert_allclose(np.nan_to_num(q), estimate, rtol=0, atol=1e-9)
        # And once everything is planned.
        table.sweep()
        with_aggregate.sweep()
        estimate, _ = table.estimate(query)


def test_an_action_never_taken_anywhere_is_estimated_as_zero() -> None:
    table = TransitionTable(2)
    np.testing.assert_array_equal(table.estimate(3), ([0, 0], [-1, -1]))
    table.add(1, 0, -2.0, None)
    np.testing.assert_array_equal(table.estimate(1), ([-2, 0], [0, -1]))


def test_each_action_has_its_own_distance_and_counts_weigh() -> None:
    table = TransitionTable(2)
    table.add(0b0000, 0, 1.0, None)
    table.add(0b0011, 1, 6.0, None)
    table.add(0b0101, 1, 0.0, None)
    table.add(0b0101, 1, 0.0, None)
    table.add(0b1111, 1, 99.0, None)
    q, distance = table.estimate(0)
    np.testing.assert_array_equal(distance, [0, 2])
    np.testing.assert_allclose(q, [1.0, 2.0])


def test_released_states_are_not_neighbours() -> None:
    table = TransitionTable(1)
    table.add(0b1, 0, 5.0, None)
    table.add(0b1111, 0, 1.0, None)
    table.delete(0b1, 0, 5.0, None)
    np.testing.assert_array_equal(table.estimate(0), ([1.0], [4]))


def test_smoothing_weighs_states_by_visits_and_distance() -> None:
    table = TransitionTable(2)
    for reward in (1.0, 1.0, 4.0):
        table.add(0b000, 0, reward, None)  # three visits, worth 2 on average
    table.add(0b001, 0, 10.0, None)
    table.add(0b110, 0, -20.0, None)
    table.add(0b110, 1, 5.0, None)
    near, far = np.exp(-1 / 2), np.exp(-2 / 2)
    wanted = (3 * 2 + near * 10 - far * 20) / (3 + near + far)
    q, distance = table.estimate(0b000, 2.0)
    np.testing.assert_allclose(q, [wanted, 5.0])
    np.testing.assert_array_equal(distance, [0, 2])
    # With a tiny width it is the paper's estimate.
    np.testing.assert_array_equal(table.estimate(0b000, 1e-3), table.estimate(0b000))


def test_smoothing_does_not_trust_one_lucky_try() -> None:
    """One lucky visit does not outweigh many visits to nearby states."""
    table = TransitionTable(2)
    for bit in range(8):
        for _ in range(20):
            table.add(1 << bit, 0, 0.5, None)
            table.add(1 << bit, 1, 0.4, None)
    table.add(0, 0, 0.5, None)
    table.add(0, 1, 1.0, None)
    assert table.estimate(0)[0].argmax() == 1
    assert table.estimate(0, 1.0)[0].argmax() == 0


def test_caution_prefers_the_better_known_action() -> None:
    table = TransitionTable(3)
    for i in range(100):
        table.add(0, 0, 0.9, None)  # known well
        table.add(1 << i % 8, 1, (0.0, 2.0)[i % 2], None)  # a better mean, but noisy
    table.add(0, 2, 1.0, None)  # better, and tried once
    assert table.estimate(0, 1.0)[0].argmax() == 1
    cautious = table.estimate(0, 1.0, 3.0)[0]
    assert cautious.argmax() == 2
    assert cautious[0] == pytest.approx(0.9 - 3 * 0.01 * 0.9 / 10)
    assert cautious[2] == pytest.approx(1.0 - 3 * 0.01)
    assert cautious[1] < 0.9


def test_smoothing_many_states_equals_brute_force() -> None:
    rng = np.random.default_rng(3)
    keys = rng.integers(0, 2**14, 3000, np.uint64)
    table = TransitionTable(3, 0.9, 1e-3)
    table.add_many(*random_steps(rng, 6000, keys, 3))
    table.sweep()
    states, width = table.states(), 1.3
    q = np.array([table.q(int(s)) for s in states])
    n = np.array([[table.count(int(s), a) for a in range(3)] for s in states])
    for query in keys[:20]:
        far = np.bitwise_count(states ^ query).astype(int)
        for a, value in enumerate(table.estimate(int(query), width)[0]):
            farther = far - far[n[:, a] > 0].min()
            share = n[:, a] * np.exp(-farther / width) * (farther <= 7 * width)
            taken = share > 0
            assert value == pytest.approx(np.average(q[taken, a], weights=share[taken]))


@pytest.mark.parametrize("width", [-1.0, float("nan"), float("inf")])
def test_an_invalid_width_is_refused(width: float) -> None:
    with pytest.raises(ValueError, match="width must be 0 or more bits"):
        TransitionTable(2).estimate(0, width)


def test_invalid_caution_is_refused() -> None:
    with pytest.raises(ValueError, match="caution must be 0 or more standard errors"):
        TransitionTable(2).estimate(0, 1.0, -1.0)
