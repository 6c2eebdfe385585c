"""MFEC: the best return that ever followed."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from vast.agents.mfec import MFEC, MFECConfig
from vast.errors import UserError
from vast.planning import TransitionTable
from vast.training.exploration import ExplorationConfig
from vast.training.spaces import Spaces

GREEDY = ExplorationConfig(burn_in=0, first=0.0, final=0.0)


def agent(n_actions: int = 2, shape: tuple[int, ...] = (3,), **fields: Any) -> MFEC:
    config = MFECConfig(**{"exploration": GREEDY, "capacity": 1000, **fields})
    return MFEC(Spaces(shape, np.dtype(np.float64), n_actions), config=config)


def place(*entries: float) -> NDArray[np.float64]:
    return np.array(entries, np.float64)


@given(
    seed=st.integers(0, 10**6),
    n_actions=st.integers(1, 3),
    depth=st.integers(1, 5),
    episodes=st.integers(1, 30),
    discount=st.floats(0, 0.999),
)
def test_in_a_deterministic_tree_it_equals_prioritized_sweeping(
    seed: int, n_actions: int, depth: int, episodes: int, discount: float
) -> None:
    """Brea 2017: without loops and chance, the best return is the value of the best path."""
    rng = np.random.default_rng(seed)
    n_nodes = sum(n_actions**level for level in range(depth + 1))
    looks = rng.standard_normal((n_nodes, 3))
    rewards = rng.standard_normal((n_nodes, n_actions))
    learner = agent(n_actions, discount=discount)
    table = TransitionTable(n_actions, discount, min_priority=1e-13)
    tried = set()
    for _ in range(episodes):
        node = 0
        learner.begin(looks[0])
        for level in range(depth):
            action = int(rng.integers(n_actions))
            reward = float(rewards[node, action])
            child = node * n_actions + action + 1
            end = level == depth - 1
            learner.observe(action, reward, looks[child], end, False)
            table.add(node, action, reward, None if end else child)
            tried.add((node, action))
            node = child
    table.sweep()
    for node, action in tried:
        value = learner.values(looks[node][None])[action]
        assert abs(value - table.q(node)[action]) < 1e-9


def test_a_value_is_the_highest_return_and_never_falls() -> None:
    learner = agent(discount=0.5)
    for rewards, best in (((0.0, 1.0), 0.5), ((0.0, 0.0), 0.5), ((0.0, 4.0), 2.0)):
        learner.begin(place(0, 0, 1))
        learner.observe(0, rewards[0], place(0, 1, 0), False, False)
        learner.observe(1, rewards[1], place(9, 9, 9), True, False)
        assert learner.values(place(0, 0, 1)[None])[0] == best
        assert len(learner.memories[0]) == len(learner.memories[1]) == 1


def test_nothing_is_learned_before_the_episode_ends_or_is_cut() -> None:
    learner = agent()
    learner.begin(place(0, 0, 1))
    learner.observe(0, 1.0, place(0, 1, 0), False, False)
    assert len(learner.memories[0]) == 0
    learner.cut()
    assert learner.values(place(0, 0, 1)[None]).tolist() == [1.0, 0.0]


def test_an_unknown_state_has_the_mean_of_its_nearest_neighbours() -> None:
    learner = agent(1, neighbours=3)
    for i, reward in enumerate([5.0, 1.0, 2.0, 3.0, 7.0]):
        learner.begin(place(i, 0, 0))
        learner.observe(0, reward, place(0, 0, 0), True, False)
    assert learner.values(place(2, 0, 0)[None]) == 2.0
    assert learner.values(place(2.1, 0, 0)[None]) == 2.0
    assert learner.values(place(0.1, 0, 0)[None]) == pytest.approx((5 + 1 + 2) / 3)


def test_the_entry_that_was_used_least_recently_gives_way() -> None:
    learner = agent(1, capacity=2, neighbours=1)

    def visit(x: float) -> None:
        learner.begin(place(x, 0, 0))
        learner.decide()
        learner.observe(0, x, place(0, 0, 0), True, False)

    visit(1.0)
    visit(2.0)
    learner.begin(place(1.1, 0, 0))  # its neighbour is used by a decision
    learner.decide()
    learner.cut()
    policy = learner.policy(0.0, np.random.default_rng(0))
    policy.begin(place(2.1, 0, 0))  # but not by a policy that nobody learns from
    policy.act()
    learner.begin(place(3.0, 0, 0))
    learner.observe(0, 3.0, place(0, 0, 0), True, False)
    assert learner.memories[0].find(learner.embed(place(1.0, 0, 0)[None])) is not None
    assert learner.memories[0].find(learner.embed(place(2.0, 0, 0)[None])) is None


def test_the_share_of_states_met_before_is_measured() -> None:
    learner = agent()
    learner.begin(place(0, 0, 1))
    learner.decide()
    learner.observe(0, 1.0, place(9, 9, 9), True, False)
    assert learner.metrics() == {"agent/epsilon": 0.0, "memory/exact": 0.0, "memory/entries": 1}
    learner.begin(place(0, 0, 1))
    learner.decide()
    assert learner.metrics()["memory/exact"] == 0.5
    assert "memory/exact" not in learner.metrics()


def test_wrong_numbers_are_refused_in_one_line() -> None:
    with pytest.raises(UserError, match="neighbours must be at least 1, got 0"):
        MFECConfig(neighbours=0)
