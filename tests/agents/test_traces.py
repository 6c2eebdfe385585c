"""Looking at an agent changes nothing of it."""

from dataclasses import replace

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from tests.agents.worlds import TINY, Grid, Wanderer, picture, tiny_agent, with_training
from tests.training.runs import identical
from vast import VaST
from vast.training.rollout import run_test_epoch
from vast.training.spaces import Spaces


@pytest.mark.parametrize("overlap", [False, True])
@pytest.mark.parametrize("history", [0, 2])
def test_a_test_epoch_leaves_no_trace(overlap: bool, history: int) -> None:
    config = with_training(overlap=overlap)
    config = replace(config, model=replace(config.model, history=history))
    agent, untouched = tiny_agent(config), tiny_agent(config)
    lives = Wanderer(agent), Wanderer(untouched)
    for life in lives:
        life.live(61)
    before = agent.state_dict()
    epoch = run_test_epoch(agent, Grid(), 80, 0.6, np.random.SeedSequence(1))
    assert epoch.episodes > 0
    assert identical(before, agent.state_dict())
    for life in lives:
        life.live(40)
    assert identical(agent.state_dict(), untouched.state_dict())
    agent.close()
    untouched.close()


def test_a_test_epoch_is_the_same_whenever_it_is_run_with_the_same_seed() -> None:
    agent = tiny_agent()
    Wanderer(agent).live(101)
    epochs = [run_test_epoch(agent, Grid(), 200, 0.9, np.random.SeedSequence(s)) for s in (1, 1, 2)]
    assert identical(list(epochs[0]), list(epochs[1]))
    assert epochs[0].reward_per_step != epochs[2].reward_per_step


def test_acting_and_asking_for_values_leaves_no_trace() -> None:
    agent = VaST(Grid(), config=TINY).learn(97)
    before = agent.state_dict()
    del before["user_rng"]  # breaks the ties of `act`
    policy = agent.policy(epsilon=0.5, seed=1)
    policy.begin(picture(0, 0))
    for column in range(4):
        policy.act()
        policy.observe(picture(1, column))
        agent.act(picture(2, column))
        agent.q_values(picture(2, column))
    agent.evaluate(Grid(), 30)
    after = agent.state_dict()
    del after["user_rng"]
    assert identical(before, after)


class Rewards(gymnasium.Env[np.ndarray[tuple[int], np.dtype[np.float32]], np.int64]):
    """Gives rewards 1, 2, 3, ... and ends, or is cut off, after every third step."""

    def __init__(self) -> None:
        self.observation_space = spaces.Box(0, 1, (2,), np.float32)
        self.action_space = spaces.Discrete(2)
        self._steps = 0

    def reset(self, **_):  # type: ignore[no-untyped-def]
        return np.zeros(2, np.float32), {}

    def step(self, action):  # type: ignore[no-untyped-def]
        self._steps += 1
        ended = self._steps % 3 == 0
        cut = self._steps % 6 == 0
        return np.zeros(2, np.float32), float(self._steps), ended and not cut, cut, {}


def test_an_epoch_tells_the_reward_per_step_and_the_returns_of_the_episodes_that_ended() -> None:
    agent = VaST(Spaces((2,), np.dtype(np.float32), 2), config=TINY)
    epoch = run_test_epoch(agent, Rewards(), 8, 0.0, np.random.SeedSequence(1))
    assert epoch.reward_per_step == sum(range(1, 9)) / 8
    assert epoch.mean_return == ((1 + 2 + 3) + (4 + 5 + 6)) / 2
    assert (epoch.episodes, epoch.goals) == (2, 1)
    none = run_test_epoch(agent, Rewards(), 2, 0.0, np.random.SeedSequence(1))
    assert np.isnan(none.mean_return)
    assert none.episodes == 0
