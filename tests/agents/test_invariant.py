"""Whatever happens to an agent, its table is that of the states assigned in its replay."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.agents.worlds import TINY, Wanderer, assigned, tiny_agent, with_training
from tests.planning.models import Step, assert_counts, assert_sound
from vast.agents.vast.agent import VaST
from vast.agents.vast.config import ExtensionsConfig, ReplayConfig, VaSTConfig
from vast.experiments.config import default_run

EVENTS = ["step"] * 12 + ["terminal", "truncated", "cut", "train"]


class Observed:
    """An agent in the grid, and the transitions of the frames it has lost."""

    def __init__(self, config: VaSTConfig) -> None:
        self.agent: VaST = tiny_agent(config)
        self.evicted: list[Step] = []
        replay: Any = self.agent.replay
        store = replay._store

        def watched(frame: Any, pose: Any, *, begins: bool) -> int:
            if len(replay) == replay.capacity:
                # The transition out of a frame is known when its successor has a state.
                self.evicted += assigned(self.agent, range(replay.oldest, replay.oldest + 1))
            number: int = store(frame, pose, begins=begins)
            return number

        replay._store = watched

    def assert_table(self) -> None:
        kept = [] if self.agent.replay.delete_evicted else self.evicted
        steps = assigned(self.agent) + kept
        assert_counts(self.agent.table, steps)
        for pair in {step[:2] for step in steps}:
            rewards = [step.reward for step in steps if step[:2] == pair]
            mean = sum(rewards) / len(rewards)
            assert self.agent.table.mean_reward(*pair) == pytest.approx(mean, abs=1e-9)


@settings(max_examples=settings().max_examples // 8)
@given(data=st.data())
def test_the_table_is_that_of_the_assignments_and_of_the_frames_evicted(
    data: st.DataObject,
) -> None:
    flag = st.booleans()
    config = replace(
        with_training(
            segment=data.draw(st.sampled_from([1, 4])),
            burst=data.draw(st.sampled_from([0, 3])),
            retabulate=data.draw(st.sampled_from([0, 5])),
            reassign=data.draw(flag),
            overlap=data.draw(flag),
        ),
        extensions=ExtensionsConfig(
            last_action=data.draw(flag), outcome_shift=data.draw(st.sampled_from([None, 0, 1]))
        ),
        model=replace(
            TINY.model,
            n_bits=data.draw(st.sampled_from([3, 8])),
            history=data.draw(st.integers(0, 2)),
            ema_decay=data.draw(st.sampled_from([0.0, 0.5])),
        ),
        replay=ReplayConfig(data.draw(st.integers(6, 40)), delete_evicted=data.draw(flag)),
        exploration=replace(TINY.exploration, burn_in=data.draw(st.integers(0, 30))),
        encode_batch=data.draw(st.sampled_from([1, 7, 100])),
        tabulate_burn_in=data.draw(flag),
    )
    life = Observed(config)
    wanderer = Wanderer(life.agent)
    for byte in data.draw(st.binary(min_size=20, max_size=90)):
        event, checked = EVENTS[byte % len(EVENTS)], byte // len(EVENTS) == 0
        if event == "train":
            wanderer.train()
        elif event != "cut":
            wanderer.step(end="" if event == "step" else event, train=byte % 2 == 0)
        elif life.agent.replay.in_episode:
            life.agent.cut()
        if checked:
            life.assert_table()
    life.assert_table()
    assert_sound(life.agent.table)
    life.agent.close()


def test_states_change_in_training_so_that_the_invariant_says_something() -> None:
    life = Observed(with_training(retabulate=10))
    Wanderer(life.agent).live(300)
    metrics = life.agent.metrics()
    assert 0 < metrics["table/reassigned"] <= 1
    assert life.evicted
    life.assert_table()
    life.agent.close()


def test_shifted_outcomes_are_forgotten_so_that_the_invariant_says_something() -> None:
    model = replace(TINY.model, n_bits=8)
    life = Observed(replace(TINY, model=model, extensions=ExtensionsConfig(outcome_shift=0)))
    Wanderer(life.agent).live(300)
    assert life.agent.replay.state_dict(frames=False)["forgotten"].any()
    life.assert_table()
    life.agent.close()


@pytest.mark.parametrize("deleted", [False, True])
@pytest.mark.parametrize("horizon", [None, 50.0])
def test_a_small_replay_that_deletes_what_it_loses_forgets_the_rewards_of_old(
    deleted: bool, horizon: float | None
) -> None:
    """Fig. 6A: after a reversal, a replay's length of steps replaces all that was counted."""
    config = replace(
        with_training(retabulate=5),
        replay=ReplayConfig(60, delete_evicted=deleted),
        extensions=ExtensionsConfig(reward_horizon=horizon),
    )
    agent = tiny_agent(config)
    life = Wanderer(agent)
    life.live(150)
    life.sign = -1.0
    life.live(150)
    agent.plan_fully()
    counted = agent.table.n_transitions
    assert (counted <= 60) if deleted else (counted > 200)
    if deleted:
        assert_counts(agent.table, assigned(agent))
    rewards = [
        agent.table.mean_reward(state, action)
        for state in agent.table.states()
        for action in range(4)
        if agent.table.count(state, action)
    ]
    if horizon is None:
        assert (max(rewards) <= 1e-9) is deleted
    values = [agent.table.value(state) for state in agent.table.states()]
    if deleted:
        assert max(values) <= 1e-9
    assert_sound(agent.table)
    agent.close()


def test_deleting_what_is_lost_goes_with_every_extension() -> None:
    extensions = replace(
        default_run("plus-maze", "vast", "cpu").settings.extensions, outcome_shift=1
    )
    config = replace(TINY, replay=ReplayConfig(60, delete_evicted=True), extensions=extensions)
    agent = tiny_agent(with_training(config, retabulate=5))
    Wanderer(agent).live(300)
    assert agent.replay.oldest > 200
    assert_counts(agent.table, assigned(agent))
    agent.close()
