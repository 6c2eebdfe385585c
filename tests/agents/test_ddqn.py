"""Prioritized Double DQN: ranks, importance weights and targets, against their definitions."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.agents.mazes import GridMaze, live
from vast.agents.ddqn import PrioritizedDDQN, PrioritizedDDQNConfig
from vast.agents.rank_order import USED, RankOrder
from vast.agents.rank_sampling import RankSampler
from vast.errors import UserError
from vast.model.config import NetworkConfig
from vast.training.exploration import ExplorationConfig
from vast.training.spaces import Spaces

SMALL = NetworkConfig(kind="mlp", mlp_hidden=(16,))


def agent(**fields: Any) -> PrioritizedDDQN:
    schedule = ExplorationConfig(burn_in=20)
    config = PrioritizedDDQNConfig(
        **{"replay": 300, "network": SMALL, "exploration": schedule, **fields}
    )
    return PrioritizedDDQN(Spaces((2,), np.dtype(np.float32), 4), config=config)


events = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(1, 4)),
        st.tuples(st.just("set"), st.lists(st.integers(0, 20), max_size=4)),
        st.tuples(st.just("revise"), st.integers(0, 2)),
    ),
    max_size=30,
)


@given(events=events, seed=st.integers(0, 99))
def test_the_order_is_that_of_sorting_all_priorities(
    events: list[tuple[str, Any]], seed: int
) -> None:
    capacity, end, oldest = 12, 0, 0
    rng = np.random.default_rng(seed)
    ranks = RankSampler(capacity, 0.7)
    plain: dict[int, tuple[float, int]] = {}
    """priority, and the revision in which it came or changed"""
    new: list[int] = []
    waiting: dict[int, float] = {}
    for time, (kind, what) in enumerate([*events, ("revise", 0)]):
        if kind == "add":
            for _ in range(what):
                ranks.add(end)
                new.append(end)
                end += 1
        elif kind == "set":
            chosen = [sorted(plain)[i % len(plain)] for i in what] if plain else []
            priorities = rng.integers(0, 4, len(chosen)).astype(float)
            ranks.set_priorities(chosen, priorities)
            waiting.update(zip(chosen, priorities.tolist(), strict=True))
        else:
            oldest = max(oldest + what, end - capacity)
            ranks.revise(oldest)
            plain |= {n: (p, time) for n, p in waiting.items()}
            plain = {n: entry for n, entry in plain.items() if n >= oldest}
            largest = max((p for p, _ in plain.values()), default=1.0)
            plain |= {n: (largest, time) for n in new if n >= oldest}
            new, waiting = [], {}
            state = ranks.state_dict()
            expected = sorted(plain, key=lambda n: (-plain[n][0], -plain[n][1], -n))
            assert state["order"].tolist() == expected
            assert state["priority"].tolist() == [plain[n][0] for n in expected]
            assert len(ranks) == len(plain)


def test_a_long_order_of_many_blocks_is_that_of_sorting() -> None:
    capacity, rng = 3000, np.random.default_rng(0)
    ranks = RankSampler(capacity, 0.7)
    plain: dict[int, tuple[float, int]] = {}
    for time in range(400):
        oldest = max(0, (time + 1) * 20 - capacity)
        new = list(range(time * 20, (time + 1) * 20))
        for number in new:
            ranks.add(number)
        # Most priorities are small, some are equal, and most changes are near the front.
        order = sorted(plain, key=lambda n: (-plain[n][0], -plain[n][1], -n))
        chosen = sorted({order[int(len(order) * x**3)] for x in rng.random(64)} if order else ())
        priorities = np.round(rng.exponential(1.0, len(chosen)), 2)
        ranks.set_priorities(chosen, priorities)
        ranks.revise(oldest)
        plain |= {n: (p, time) for n, p in zip(chosen, priorities.tolist(), strict=True)}
        plain = {n: entry for n, entry in plain.items() if n >= oldest}
        largest = max((p for p, _ in plain.values()), default=1.0)
        plain |= dict.fromkeys(new, (largest, time))
        if time % 40 == 39:
            expected = sorted(plain, key=lambda n: (-plain[n][0], -plain[n][1], -n))
            assert ranks._order.in_order()[0].tolist() == expected
            at = rng.permutation(len(expected))
            assert ranks._order.at(at).tolist() == [expected[i] for i in at]
    assert len(ranks) == capacity


def test_blocks_that_are_nearly_empty_are_joined_when_there_are_no_more() -> None:
    capacity, rng = 3000, np.random.default_rng(0)
    order, numbers = RankOrder(capacity), np.arange(capacity)
    blocks = len(order._blocks)
    priority = rng.random(capacity)
    order.put(numbers, priority)
    joined, crowd = False, numbers
    for _ in range(5):
        used = int(order._counters[USED])
        # One step in a hundred stays for good, and keeps its block; the others crowd elsewhere.
        ordered = crowd[np.argsort(-priority[crowd])]
        crowd = rng.permutation(np.delete(ordered, np.s_[::100]))
        low = rng.random()
        priority[crowd] = rng.uniform(low, low + 1e-3, len(crowd))
        order.remove(crowd)
        order.put(crowd, priority[crowd])
        joined |= int(order._counters[USED]) < min(used, blocks) - 5
        found, values = order.in_order()
        assert found.tolist() == numbers[np.argsort(-priority)].tolist()
        assert values.tolist() == sorted(priority, reverse=True)
    assert joined


def ranked(n: int, alpha: float) -> tuple[RankSampler, np.ndarray[Any, np.dtype[np.float64]]]:
    """Return steps 0 to n - 1 with random errors, and the probability of each by brute force."""
    ranks = RankSampler(100, alpha)
    for number in range(n):
        ranks.add(number)
    ranks.revise(0)
    errors = np.random.default_rng(1).permutation(n) + 1.0
    ranks.set_priorities(np.arange(n), errors)
    ranks.revise(0)
    powers = np.array([(1 / (1 + np.sum(errors > mine))) ** alpha for mine in errors])
    return ranks, powers / powers.sum()


@pytest.mark.parametrize("alpha", [0.0, 0.7, 1.0])
def test_steps_are_drawn_by_the_power_of_their_rank(alpha: float) -> None:
    ranks, probabilities = ranked(20, alpha)
    rng = np.random.default_rng(0)
    counts = np.zeros(20)
    for _ in range(5000):
        drawn = ranks.draw(rng, 8, 0.5)
        np.add.at(counts, drawn.numbers, 1)
        np.testing.assert_allclose(drawn.probabilities, probabilities[drawn.numbers])
    expected = 5000 * 8 * probabilities
    assert (np.abs(counts - expected) < 4.5 * np.sqrt(expected)).all()


def test_a_minibatch_has_one_step_of_each_stratum() -> None:
    ranks, probabilities = ranked(50, 0.7)
    order = np.argsort(-probabilities)
    ends = np.cumsum(probabilities[order])
    drawn = ranks.draw(np.random.default_rng(0), 10, 0.5)
    place = {int(number): rank for rank, number in enumerate(order)}
    for stratum, number in enumerate(drawn.numbers.tolist()):
        high = ends[place[number]]
        low = high - probabilities[number]
        assert low < (stratum + 1) / 10 + 1e-12
        assert high > stratum / 10 - 1e-12


@pytest.mark.parametrize("beta", [0.0, 0.5, 1.0])
def test_weights_undo_the_probabilities_up_to_the_largest(beta: float) -> None:
    ranks, probabilities = ranked(30, 0.7)
    weights = (30 * probabilities) ** -beta
    weights /= weights.max()
    drawn = ranks.draw(np.random.default_rng(0), 64, beta)
    np.testing.assert_allclose(drawn.weights, weights[drawn.numbers])


def test_beta_goes_to_one_in_its_own_time() -> None:
    config = PrioritizedDDQNConfig(beta_steps=100, exploration=ExplorationConfig(burn_in=50))
    assert [config.beta_at(step) for step in (0, 50, 100, 150, 10**6)] == [0.5, 0.5, 0.75, 1, 1]


@pytest.mark.slow
def test_errors_are_those_of_double_q_learning() -> None:
    learner = agent(target_interval=10**6, learning_rate=0.01, discount=0.9, replay=600)
    live(learner, GridMaze(limit=20), 500)
    numbers = learner.ranks.state_dict()["order"]
    steps = learner.replay.steps(numbers)
    assert steps.terminals.any()
    errors = learner.td_errors(steps).detach().numpy()
    for row in range(len(numbers)):
        before, after = steps.frames[row, :-1], steps.frames[row, 1:]
        best = learner.values(after).argmax()
        worth = 0.0 if steps.terminals[row] else learner.target.outputs(after[None])[0, best]
        expected = steps.rewards[row] + 0.9 * worth - learner.values(before)[steps.actions[row]]
        assert errors[row] == pytest.approx(expected, abs=1e-5)
    # the two networks disagree on which action is best, so that it matters which one chooses
    seen = steps.frames[:, 1:]
    chosen = learner.network.outputs(seen).argmax(1)
    assert (chosen != learner.target.outputs(seen).argmax(1)).any()


def test_the_target_network_is_copied_when_it_is_time() -> None:
    learner = agent(target_interval=50, train_interval=1)
    env = GridMaze()
    seen = np.array([[1, 2]], np.float32)
    live(learner, env, 49)
    assert (learner.target.outputs(seen[None]) != learner.network.outputs(seen[None])).any()
    live(learner, env, 1, begin=False)
    np.testing.assert_array_equal(
        learner.target.outputs(seen[None]), learner.network.outputs(seen[None])
    )
    live(learner, env, 1, begin=False)
    assert (learner.target.outputs(seen[None]) != learner.network.outputs(seen[None])).any()


def test_a_training_step_weighs_its_errors_and_makes_them_priorities() -> None:
    learner, twin = agent(replay=100, batch=16), agent(replay=100, batch=16)
    env = GridMaze(limit=20)
    live(learner, env, 119)
    assert learner.frame_store is not None
    twin.load_state_dict(
        learner.state_dict(), [learner.frame_store.frames_since(learner.replay.oldest)]
    )
    learner.metrics()
    learner.decide()
    twin.decide()
    seen, reward, terminated, truncated, _ = env.step(np.int64(0))
    learner.observe(0, reward, seen, terminated, truncated)
    learner.train()

    twin._frames.push(seen)
    twin._stepped(0, reward, None)
    twin.ranks.revise(twin.replay.encodable_from)
    drawn = twin.ranks.draw(twin._rng, 16, twin.config.beta_at(120))
    sizes = twin.td_errors(twin.replay.steps(drawn.numbers)).abs().detach().numpy()
    ranks = learner.ranks.state_dict()
    np.testing.assert_array_equal(ranks["changed"], drawn.numbers)
    np.testing.assert_allclose(ranks["changed_to"], sizes, rtol=1e-6)
    losses = np.where(sizes <= 1, sizes**2 / 2, sizes - 1 / 2)
    measured = learner.metrics()
    assert measured["train/loss"] == pytest.approx((drawn.weights * losses).mean(), rel=1e-5)
    assert measured["train/td_error"] == pytest.approx(sizes.mean(), rel=1e-5)
    assert drawn.weights.min() < 0.9


def test_both_networks_are_shown_the_same_once_inputs_are_standardised() -> None:
    learner = agent(standardise_after=10)
    live(learner, GridMaze(), 9)
    seen = np.array([[[1, 2]]], np.float32)
    before = learner.network.outputs(seen)
    live(learner, GridMaze(), 1, begin=False)
    assert (learner.network.outputs(seen) != before).any()
    np.testing.assert_array_equal(learner.target.outputs(seen), learner.network.outputs(seen))


@pytest.mark.parametrize("history", [0, 2])
def test_every_step_that_can_be_read_is_ranked_and_no_other(history: int) -> None:
    learner = agent(replay=15, history=history, train_interval=1, batch=4)
    env = GridMaze(limit=7)
    for chunk in range(100):
        live(learner, env, 1, begin=chunk == 0)
        learner.ranks.revise(learner.replay.encodable_from)
        ranked = sorted(learner.ranks.state_dict()["order"].tolist())
        readable = []
        for number in range(learner.replay.oldest, learner.replay.end):
            try:
                learner.replay.steps([number])
            except ValueError:
                continue
            readable.append(number)
        assert ranked == readable


def test_wrong_numbers_are_refused_in_one_line() -> None:
    with pytest.raises(UserError, match=r"first_beta must be between 0 and 1, got -0\.1"):
        PrioritizedDDQNConfig(first_beta=-0.1)
    with pytest.raises(UserError, match="target_interval must be at least 1, got 0"):
        PrioritizedDDQNConfig(target_interval=0)
