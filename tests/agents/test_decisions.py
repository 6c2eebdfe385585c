"""The values by which an agent decides: with and without neighbours, learning and not."""

from dataclasses import replace

import numpy as np
import pytest

from tests.agents.worlds import picture, tiny_agent, with_extensions
from vast.agents.extension import Extensions
from vast.agents.table import Decisions
from vast.agents.vast.config import PlanningConfig, VaSTConfig
from vast.agents.vast.extensions.smoothing import Smoothing
from vast.errors import UserError
from vast.planning import TransitionTable
from vast.training.exploration import ExplorationConfig


def test_without_neighbours_what_was_never_tried_is_worth_nothing() -> None:
    table = TransitionTable(2)
    table.add(0b01, 0, -1.0, None)
    table.add(0b11, 1, 5.0, None)
    q, distance = Decisions(table, Extensions(), learning=True).estimate(0b01)
    assert (q.tolist(), distance.tolist()) == ([-1, 5], [0, 1])
    alone = Decisions(table, Extensions(), learning=True, neighbours=False)
    q, distance = alone.estimate(0b01)
    assert (q.tolist(), distance.tolist()) == ([-1, 0], [0, -1])
    with pytest.raises(UserError, match="smoothing and caution require neighbours"):
        VaSTConfig(
            planning=PlanningConfig(neighbours=False),
            extensions=with_extensions(smoothing=1.0).extensions,
        )


def test_lucky_once_is_tried_again_in_training_and_not_relied_upon_in_a_test() -> None:
    config = replace(
        with_extensions(smoothing=1.0, caution=3.0),
        exploration=ExplorationConfig(0, 0.0, 0.0, 1),
    )
    agent = tiny_agent(config)
    seen = picture(0, 0)
    (state,) = agent.encoder.encode(seen[None, None]).tolist()
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
    usual = Smoothing(table, 1.0, 0.0)
    alone = Smoothing(table, 1.0, 0.0, smooth_learning=False)
    smooth = usual.estimate(0b00, learning=False).q
    assert smooth < 0.5
    assert usual.estimate(0b00, learning=True).q == smooth
    assert alone.estimate(0b00, learning=False).q == smooth
    assert alone.estimate(0b00, learning=True).q == 1.0


def test_caution_may_hold_while_learning_too() -> None:
    table = TransitionTable(1)
    table.add(0b00, 0, 1.0, None)
    usual = Smoothing(table, 0.0, 2.0)
    cautious = Smoothing(table, 0.0, 2.0, cautious_learning=True)
    lowered = usual.estimate(0b00, learning=False).q
    assert lowered < 1.0
    assert usual.estimate(0b00, learning=True).q == 1.0
    assert cautious.estimate(0b00, learning=True).q == lowered
