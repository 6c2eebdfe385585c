"""Fig. 1C, D: what one run from an arm never visited brings, without a change in the networks."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import gymnasium
import numpy as np
import pytest

from vast import VaST
from vast.agents.encoders import saved
from vast.experiments.interventions import FORCED_RUNS
from vast.experiments.one_run import OneRun, show_run
from vast.training.protocol import Env

pytestmark = pytest.mark.slow

SHUT_BEYOND = 64
"""x of the invisible wall"""
LIVING_REWARD = -0.01


@pytest.fixture(scope="module")
def env() -> Iterator[Env]:
    env = gymnasium.make("vast/TMaze-v0")
    yield env
    env.close()


@pytest.fixture(scope="module")
def agent(
    trained_tmaze: tuple[VaST, Env], env: Env, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[VaST]:
    """A copy of the trained agent."""
    path: Path = tmp_path_factory.mktemp("agent") / "saved"
    trained_tmaze[0].save(path)
    copy = VaST.load(path, env)
    yield copy
    copy.close()


@pytest.fixture(scope="module")
def shown(agent: VaST, env: Env) -> OneRun:
    return show_run(agent, env, steps=500)


def test_the_arm_never_visited_is_of_new_states_and_the_stem_of_known_ones(shown: OneRun) -> None:
    x, y = shown.run.poses[:, 0], shown.run.poses[:, 1]
    assert shown.new[x > SHUT_BEYOND].mean() > 0.6
    assert shown.new[y < -SHUT_BEYOND].mean() < 0.4


def test_new_states_get_values_from_the_known_stem(shown: OneRun) -> None:
    """Without a known state on its way, the run's values would be sums of -0.01: negative."""
    before, after = shown.run_values
    arm = shown.run.poses[:, 0] > SHUT_BEYOND
    assert (after[arm] > 0.3).all()
    assert np.nanmax(before) > after[arm].max()
    # Towards the goal, values rise.
    assert after[arm][-1] > after[arm][0] + 3 * -LIVING_REWARD


def test_each_new_value_is_that_of_the_next_state_one_step_earlier(
    shown: OneRun, agent: VaST
) -> None:
    run, values = FORCED_RUNS["t-maze"], shown.run_values[1]
    states, discount = shown.run.states.tolist(), agent.config.planning.discount
    looked_at = 0
    for i, (state, following) in enumerate(pairwise(states)):
        if shown.new[i] and states.count(state) == 1 and following != state:
            assert agent.table.count(state, "FLR".index(run.actions[i])) == 1
            expected = LIVING_REWARD + discount * values[i + 1]
            assert values[i] == pytest.approx(expected, abs=2e-4)
            looked_at += 1
    assert looked_at >= 4


def test_the_networks_stay_as_they_were(
    shown: OneRun, agent: VaST, trained_tmaze: tuple[VaST, Env]
) -> None:
    original = trained_tmaze[0]
    before, after = saved(original.encoder), saved(agent.encoder)
    assert before.keys() == after.keys()
    for name, value in before.items():
        np.testing.assert_array_equal(value, after[name])
    assert shown.same_networks
    assert agent.replay.end == original.replay.end + len(shown.run.states)


def test_values_elsewhere_stay_nearly_the_same(shown: OneRun) -> None:
    before, after = shown.around_values
    known = np.isfinite(before)
    assert known.mean() > 0.5
    assert np.median(np.abs(after[known] - before[known])) < 0.01
    np.testing.assert_array_equal(np.isfinite(after[known]), True)
