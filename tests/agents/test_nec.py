"""NEC: values read from neighbours, and gradients that reach their keys and values."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.agents.mazes import GridMaze, live
from vast.agents.nec.agent import NEC
from vast.agents.nec.config import NECConfig
from vast.agents.nec.dictionary import Dictionary, estimate
from vast.agents.nec.returns import Returns, Step
from vast.errors import UserError
from vast.model.config import NetworkConfig
from vast.replay.episodes import Fate
from vast.training.exploration import ExplorationConfig
from vast.training.spaces import Spaces

DELTA = 1e-3
SMALL = NetworkConfig(kind="mlp", mlp_hidden=(16,))
ALWAYS_RANDOM = ExplorationConfig(burn_in=10**9)


def agent(shape: tuple[int, ...] = (2,), **fields: Any) -> NEC:
    numbers = {"embedding": 4, "capacity": 500, "replay": 500, "neighbours": 5, "network": SMALL}
    config = NECConfig(**{**numbers, "exploration": ALWAYS_RANDOM, **fields})
    return NEC(Spaces(shape, np.dtype(np.float32), 4), config=config)


def filled(n: int, neighbours: int, width: int = 3) -> tuple[Dictionary, NDArray[np.float32]]:
    """Return a dictionary of two actions with n entries each, and their keys."""
    rng = np.random.default_rng(0)
    dictionary = Dictionary(2, 100, width, neighbours, DELTA)
    keys = rng.normal(0, 0.1, (2, n, width)).astype(np.float32)
    for a in range(2):
        for key in keys[a]:
            dictionary.write(a, key, float(rng.standard_normal()), 0.1)
    return dictionary, keys


def test_gradients_equal_finite_differences() -> None:
    rng = torch.Generator().manual_seed(0)
    queries, keys, values = (
        torch.randn(shape, generator=rng, dtype=torch.float64).mul(0.1).requires_grad_()
        for shape in ((3, 4), (3, 5, 4), (3, 5))
    )
    assert torch.autograd.gradcheck(
        lambda h, k, v: estimate(h, k, v, DELTA), (queries, keys, values), eps=1e-7, atol=1e-5
    )


def loss_by_hand(
    dictionary: Dictionary, queries: NDArray[Any], actions: NDArray[np.int64], wanted: NDArray[Any]
) -> float:
    """Return the squared errors, computed in double precision from all that is stored."""
    loss = 0.0
    for query, action, target in zip(queries, actions, wanted, strict=True):
        state = dictionary.memories[action].state_dict()
        squared = ((state["keys"].astype(np.float64) - query) ** 2).sum(1)
        near = np.argsort(squared)[: dictionary.neighbours]
        kernel = 1 / (squared[near] + DELTA)
        loss += ((kernel * state["values"][near]).sum() / kernel.sum() - target) ** 2
    return loss


def test_a_lookup_reads_the_inverse_distance_mean_of_its_neighbours() -> None:
    dictionary, keys = filled(20, 7)
    query = keys[0, 0] + np.float32(0.02)
    look = dictionary.look_up(query)
    for a in range(2):
        assert loss_by_hand(dictionary, query[None], np.array([a]), look.values[a : a + 1]) < 1e-20
    q, _ = dictionary.estimates(torch.from_numpy(np.stack([query, query])), np.array([1, 0]))
    np.testing.assert_allclose(q.detach().numpy(), look.values[::-1], rtol=1e-4)


def test_descent_moves_neighbours_along_the_gradient_and_nobody_else() -> None:
    dictionary, keys = filled(20, 5)
    queries = np.stack([keys[0, 0] + 0.01, keys[0, 1] - 0.01, keys[1, 2] + 0.01]).astype(np.float32)
    actions, wanted = np.array([0, 0, 1]), np.array([1.0, -1.0, 2.0])
    before = dictionary.state_dict()
    numeric = []
    for memory in dictionary.memories:
        for row in range(len(memory)):
            slopes = []
            for i in range(3):
                ends = []
                for step in (1e-3, -1e-3):
                    key = memory.keys([row])
                    memory.move([row], key + np.float32(step) * np.eye(3, dtype=np.float32)[i])
                    ends.append(loss_by_hand(dictionary, queries, actions, wanted))
                    memory.move([row], key)
                slopes.append((ends[0] - ends[1]) / 2e-3)
            value = float(memory.values([row])[0])
            ends = []
            for step in (1e-3, -1e-3):
                memory.set_values([row], value + step)
                ends.append(loss_by_hand(dictionary, queries, actions, wanted))
            memory.set_values([row], value)
            numeric.append([*slopes, (ends[0] - ends[1]) / 2e-3])
    q, lookups = dictionary.estimates(torch.from_numpy(queries), actions)
    torch.autograd.backward((q - torch.from_numpy(wanted)).square().sum())
    dictionary.descend(lookups, rate := 1e-3)
    moved = []
    for old, new in zip(before, dictionary.state_dict(), strict=True):
        by_key = (new["keys"] - old["keys"].astype(np.float64)) / -rate
        moved += np.column_stack([by_key, (new["values"] - old["values"]) / -rate]).tolist()
    np.testing.assert_allclose(moved, numeric, rtol=0.03, atol=0.01)
    reached = {(lookup.action, row) for lookup in lookups for row in lookup.rows.ravel().tolist()}
    for place, change in enumerate(np.array(moved)):
        assert change.any() == (divmod(place, 20) in reached)
    for memory, new in zip(dictionary.memories, dictionary.state_dict(), strict=True):
        assert [memory.find(key) for key in new["keys"]] == list(range(20))


def test_a_training_step_moves_keys_and_values_in_the_dictionary() -> None:
    learner = agent(
        exploration=ExplorationConfig(burn_in=200), n_steps=50, train_interval=1, batch=8
    )
    env = GridMaze()
    live(learner, env, 199)
    before = learner.dictionary.state_dict()
    learner.decide()
    learner.observe(0, 0.0, np.array([0, 0], np.float32), False, False)
    assert "train/loss" not in learner.metrics()
    learner.train()
    assert learner.metrics()["train/loss"] > 0
    moved_keys = moved_values = 0
    for old, new in zip(before, learner.dictionary.state_dict(), strict=True):
        assert len(old["keys"]) == len(new["keys"])
        moved_keys += int((old["keys"] != new["keys"]).any(1).sum())
        moved_values += int((old["values"] != new["values"]).sum())
    assert 0 < moved_keys <= 8 * 5
    assert 0 < moved_values <= 8 * 5


def test_a_state_met_again_is_updated_in_place() -> None:
    learner = agent(tabular_rate=0.25)
    for reward in (1.0, 2.0, 2.0):
        learner.begin(np.array([1, 2], np.float32))
        learner.observe(3, reward, np.zeros(2, np.float32), True, False)
    memory = learner.dictionary.memories[3]
    assert len(memory) == len(learner.dictionary) == 1
    row = memory.find(learner.embed(np.array([[1, 2]], np.float32)))
    assert row is not None
    assert memory.values([row])[0] == 1 + 0.25 + 0.25 * 0.75


@given(
    rewards=st.lists(st.floats(-2, 2), min_size=1, max_size=12),
    n=st.integers(1, 5),
    terminal=st.booleans(),
)
def test_returns_are_n_rewards_and_the_value_after_them(
    rewards: list[float], n: int, terminal: bool
) -> None:
    discount, length = 0.9, len(rewards)
    values = np.random.default_rng(0).standard_normal(length + 1)
    returns = Returns(n, discount, 1)
    done = []
    for t, reward in enumerate(rewards):
        returns.add(Step(t, np.zeros(1, np.float32), 0, reward))
        last = t == length - 1
        if returns.is_due and not (last and terminal):
            done.append(returns.take_oldest(values[t + 1]))
    done += returns.take_all(0.0 if terminal else values[length])
    assert [step.number for step, _ in done] == list(range(length))
    for t, (_, following) in enumerate(done):
        end = min(t + n, length)
        after = 0.0 if terminal and end == length else values[end]
        expected = sum(discount ** (i - t) * rewards[i] for i in range(t, end))
        assert following == pytest.approx(expected + discount ** (end - t) * after)


def test_a_cut_episode_bootstraps_from_its_last_frame_and_an_ended_one_does_not() -> None:
    places = np.array([[1, 2], [3, 1], [0, 4]], np.float32)
    for terminated, worth in ((False, 5.0), (True, 0.0)):
        learner = agent(discount=0.5)
        learner.begin(places[2])
        learner.observe(1, 5.0, places[0], True, False)
        learner.begin(places[0])
        learner.observe(0, 1.0, places[1], False, False)
        learner.observe(0, 0.0, places[2], terminated, not terminated)
        memory = learner.dictionary.memories[0]
        rows = [memory.find(learner.embed(place[None])) for place in places[:2]]
        stored = memory.values(np.array(rows, np.int64))
        np.testing.assert_allclose(stored, [1 + 0.25 * worth, 0.5 * worth], rtol=1e-6)


def test_only_steps_whose_return_is_known_are_trained_on() -> None:
    learner, env = agent(n_steps=4, replay=30), GridMaze(limit=9)
    for chunk in range(150):
        live(learner, env, 1, begin=chunk == 0)
        state = learner.state_dict()
        known = ~np.isnan(state["target"])
        waiting = [*state["returns"]["numbers"].tolist(), state["number"]]
        ends = [
            number
            for number in range(learner.replay.oldest, learner.replay.end)
            if state["replay"]["fate"][number - learner.replay.oldest] == Fate.TRUNCATED
        ]
        unknown = {number % 30 for number in [*waiting, *ends]}
        assert (
            set(np.flatnonzero(known).tolist()) == set(range(min(30, learner.replay.end))) - unknown
        )


def test_decisions_use_entries_and_test_policies_do_not() -> None:
    learner = agent(exploration=ExplorationConfig(burn_in=0, first=0.0, final=0.0, anneal_steps=0))
    learner.begin(np.array([1, 1], np.float32))
    learner.observe(0, 1.0, np.zeros(2, np.float32), True, False)
    used = learner.dictionary.memories[0].state_dict()["used"]
    policy = learner.policy(0.0, np.random.default_rng(0))
    policy.begin(np.array([1, 1], np.float32))
    policy.act()
    assert learner.dictionary.memories[0].state_dict()["used"] == used
    learner.begin(np.array([1, 1], np.float32))
    assert learner.decide() == 0
    assert learner.dictionary.memories[0].state_dict()["used"] > used


def test_wrong_numbers_are_refused_in_one_line() -> None:
    with pytest.raises(UserError, match=r"tabular_rate must be between 0 and 1, got 1\.5"):
        NECConfig(tabular_rate=1.5)
    with pytest.raises(UserError, match="replay must be at least 52, got 51"):
        NECConfig(replay=51)
    with pytest.raises(UserError, match="kind must be 'mlp' for observations of shape"):
        agent(network=NetworkConfig())
