"""What actions are worth to an agent: with and without neighbours, learning and not."""

from dataclasses import replace

import numpy as np
import pytest

from tests.agents.worlds import TINY, mind, picture
from vast.agents.vast.config import PlanningConfig
from vast.agents.vast.estimate import Estimate
from vast.errors import UserError
from vast.planning import TransitionTable
from vast.training.exploration import ExplorationConfig


def test_without_neighbours_what_was_never_tried_is_worth_nothing() -> None:
    table = TransitionTable(2)
    table.add(0b01, 0, -1.0, None)
    table.add(0b11, 1, 5.0, None)
    q, distance = Estimate(table, PlanningConfig(), learning=True)(0b01)
    assert (q.tolist(), distance.tolist()) == ([-1, 5], [0, 1])
    alone = PlanningConfig(neighbours=False)
    q, distance = Estimate(table, alone, learning=True)(0b01)
    assert (q.tolist(), distance.tolist()) == ([-1, 0], [0, -1])
    with pytest.raises(UserError, match="allowed is one of both"):
        PlanningConfig(neighbours=False, smoothing=1.0)


def test_lucky_once_is_tried_again_in_training_and_not_relied_upon_in_a_test() -> None:
    config = replace(
        TINY,
        planning=replace(TINY.planning, smoothing=1.0, caution=3.0),
        exploration=ExplorationConfig(0, 0.0, 0.0, 1),
    )
    agent = mind(config)
    seen = picture(0, 0)
    (state,) = agent.tabulator.encode(seen[None, None]).tolist()
    for _ in range(100):
        agent.table.add(state, 0, 0.99, None)
    for action, reward in ((1, 1.0), (2, 0.0), (3, 0.0)):
        agent.table.add(state, action, reward, None)
    agent.begin(seen)
    assert agent.decide() == 1
    policy = agent.policy(0.0, np.random.default_rng(0))
    policy.begin(seen)
    assert policy.act() == 0


def test_states_around_may_have_a_say_in_tests_only() -> None:
    table = TransitionTable(1)
    table.add(0b00, 0, 1.0, None)
    for _ in range(10):
        table.add(0b01, 0, 0.0, None)
    usual = PlanningConfig(smoothing=1.0)
    alone = replace(usual, smooth_learning=False)
    smooth = Estimate(table, usual, learning=False)(0b00)[0]
    assert smooth < 0.5
    assert Estimate(table, usual, learning=True)(0b00)[0] == smooth
    assert Estimate(table, alone, learning=False)(0b00)[0] == smooth
    assert Estimate(table, alone, learning=True)(0b00)[0] == 1.0
