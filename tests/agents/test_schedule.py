"""When VaST encodes, trains, hides rewards, freezes and explores; and what it says of it."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.agents.worlds import (
    TINY,
    Wanderer,
    assigned,
    picture,
    tiny_agent,
    training_steps,
    with_training,
)
from tests.training.runs import identical
from vast.agents.encoders import saved
from vast.agents.extension import ActionValues
from vast.agents.vast.agent import VaST
from vast.agents.vast.config import VaSTConfig
from vast.model.tabulator import Tabulator
from vast.training.exploration import ExplorationConfig, greedy


def encoded_by(agent: VaST) -> list[int]:
    """Return a list to which every call of the encoder adds how many frames it was given."""
    sizes: list[int] = []
    encoder: Any = agent.encoder
    encode = encoder.encode

    def watched(observations: NDArray[Any], **options: Any) -> NDArray[np.uint64]:
        sizes.append(len(observations))
        codes: NDArray[np.uint64] = encode(observations, **options)
        return codes

    encoder.encode = watched
    return sizes


def exploring(burn_in: int, first: float = 1.0, final: float = 1.0) -> ExplorationConfig:
    return ExplorationConfig(burn_in, first, final, 10)


# --- encoding -------------------------------------------------------------------------------------


def test_in_the_burn_in_frames_wait_until_a_batch_is_full() -> None:
    agent = tiny_agent(replace(TINY, exploration=exploring(1000), encode_batch=10))
    sizes = encoded_by(agent)
    Wanderer(agent).live(200)
    # One more where an episode began meanwhile.
    assert set(sizes) <= {10, 11}
    assert 0 <= agent.replay.end - sum(sizes) <= 10
    assert len(agent.replay.waiting()) == agent.replay.end - sum(sizes)


def test_no_frame_is_encoded_before_the_burst_is_over_if_asked_so() -> None:
    config = with_training(burst=5)
    agent = tiny_agent(replace(config, exploration=exploring(50), tabulate_burn_in=False))
    sizes = encoded_by(agent)
    life = Wanderer(agent)
    life.live(49)
    assert sizes == []
    assert len(agent.table) == 0
    life.live(1)
    # One call for each step of training, which has nothing to encode again, and one for all.
    assert sizes == [0] * 5 + [agent.replay.end]
    assert len(agent.replay.waiting()) == 0


def test_a_greedy_action_needs_the_newest_frame_and_a_random_one_none() -> None:
    agent = tiny_agent(replace(TINY, exploration=exploring(30, 0.0, 0.0), encode_batch=100))
    sizes = encoded_by(agent)
    life = Wanderer(agent)
    for _ in range(30):
        life.step(train=False)
    assert sizes == []
    life.step(train=False)
    assert sizes == [31]
    for _ in range(5):
        life.step(train=False)
    assert sizes == [31, 1, 1, 1, 1, 1]


def test_after_the_burn_in_random_actions_still_let_frames_wait() -> None:
    agent = tiny_agent(
        with_training(
            replace(TINY, exploration=exploring(10, 1.0, 1.0), encode_batch=25), every=1000
        )
    )
    sizes = encoded_by(agent)
    Wanderer(agent).live(200)
    assert set(sizes) <= {25, 26}
    assert len(sizes) >= 7


# --- training -------------------------------------------------------------------------------------


@pytest.mark.parametrize("burst", [0, 2])
def test_without_a_burn_in_training_begins_when_there_is_something_to_train_on(burst: int) -> None:
    agent = tiny_agent(with_training(replace(TINY, exploration=exploring(0)), burst=burst, every=1))
    assert not agent.train()
    assert training_steps(agent) == 0
    Wanderer(agent).step()
    assert training_steps(agent) == max(burst, 1)


@pytest.mark.parametrize("overlap", [False, True])
def test_one_training_step_per_four_steps_after_the_burn_in_and_its_burst(overlap: bool) -> None:
    agent = tiny_agent(
        with_training(replace(TINY, exploration=exploring(21)), burst=6, overlap=overlap)
    )
    life = Wanderer(agent)
    life.live(20)
    assert training_steps(agent) == 0
    life.live(1)
    agent.state_dict()  # waits for what is under way
    assert training_steps(agent) == 6
    done = []
    for _ in range(12):
        life.live(1)
        agent.state_dict()
        done.append(training_steps(agent) - 6)
    assert done == [1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3]
    agent.close()


def test_the_model_is_frozen_and_the_table_still_grows() -> None:
    agent = tiny_agent(with_training(replace(TINY, exploration=exploring(20)), freeze_after=60))
    life = Wanderer(agent)
    life.live(60)
    frozen, transitions = saved(agent.encoder), agent.table.n_transitions
    assert training_steps(agent) > 0
    life.live(100)
    assert identical(saved(agent.encoder), frozen)
    assert agent.table.n_transitions > transitions + 80


def test_a_freeze_leaves_every_frame_with_the_state_of_the_final_encoder() -> None:
    """Whatever was encoded long ago by an encoder that has changed since."""
    for retabulate, all_follow in ((0, False), (1, True)):
        training = {"freeze_after": 200, "retabulate": retabulate, "reassign": False}
        config = with_training(replace(TINY, exploration=exploring(20)), **training)
        agent = tiny_agent(config)
        Wanderer(agent).live(200)
        agent.plan_fully()
        stored = np.arange(agent.replay.oldest, agent.replay.end)
        states, _ = agent.replay.states(stored)
        final = agent.encoder.encode(agent.replay.histories(stored))
        assert (states == final).all() == all_follow


def test_training_beside_the_steps_uses_what_was_known_when_it_began() -> None:
    """A result is in use one interval later, with the encoder that goes with it."""
    agent = tiny_agent(with_training(overlap=True))
    life = Wanderer(agent)
    life.live(20)
    before = agent.encoder.encode(picture(1, 1)[None]), agent.table.state_dict()
    assert agent._jobs.wait() is not None
    assert agent.metrics()["train/steps"] == 0
    assert identical(agent.table.state_dict(), before[1])
    life.live(4)
    assert agent.metrics()["train/steps"] == 1
    agent.close()


def test_rewards_are_hidden_in_latent_learning_and_seen_after_it() -> None:
    agent = tiny_agent(replace(TINY, latent_steps=70, encode_batch=1))
    life = Wanderer(agent)
    life.live(70)
    assert {step.reward for step in assigned(agent)} == {0.0}
    for state in agent.table.states().tolist():
        assert np.nan_to_num(agent.table.q(state)).max() == 0
    life.live(30)
    assert max(step.reward for step in assigned(agent)) > 0


# --- acting ---------------------------------------------------------------------------------------


@given(
    burn_in=st.integers(0, 50),
    anneal=st.integers(0, 50),
    first=st.floats(0, 1),
    final=st.floats(0, 1),
)
def test_epsilon_is_1_in_the_burn_in_and_then_falls_linearly(
    burn_in: int, anneal: int, first: float, final: float
) -> None:
    config = ExplorationConfig(burn_in, first, final, anneal)
    assert all(config.epsilon_at(step) == 1.0 for step in range(burn_in))
    line = np.linspace(first, final, anneal + 1) if anneal else [final]
    found = [config.epsilon_at(step) for step in range(burn_in, burn_in + anneal + 3)]
    assert found == pytest.approx([*line, *[final] * (2 + (anneal + 1 - len(line)))][: len(found)])


def test_the_share_of_random_actions_is_epsilon(monkeypatch: pytest.MonkeyPatch) -> None:
    agent = tiny_agent(
        with_training(replace(TINY, exploration=ExplorationConfig(0, 0.3, 0.3, 0)), every=10**6)
    )
    life = Wanderer(agent)
    best = ActionValues(np.array([0.0, 1, 0, 0]), np.zeros(4, np.int64))
    monkeypatch.setattr(agent._decisions, "estimate", lambda state: best)
    other = sum(life.step() != 1 for _ in range(800))
    assert abs(other / 800 - 0.3 * 3 / 4) < 0.05


def test_ties_are_broken_at_random_by_the_generator_handed_in() -> None:
    q = np.array([1.0, 3.0, 3.0, 2.0, 3.0])
    found = Counter(greedy(q, np.random.default_rng(seed)) for seed in range(600))
    assert set(found) == {1, 2, 4}
    assert min(found.values()) > 150
    again = np.random.default_rng(5)
    assert greedy(q, again) == greedy(q, np.random.default_rng(5))
    untouched = again.bit_generator.state
    greedy(np.array([0.0, 1.0]), again)
    assert again.bit_generator.state == untouched


def test_an_agent_that_knows_nothing_tries_all_actions() -> None:
    config = with_training(replace(TINY, exploration=exploring(0, 0.0, 0.0)), every=10**6)
    first = [Wanderer(tiny_agent(config, seed)).step() for seed in range(24)]
    assert set(first) == {0, 1, 2, 3}


# --- metrics --------------------------------------------------------------------------------------


@pytest.mark.parametrize("encode_batch", [1, 7])
@pytest.mark.parametrize("retabulate", [0, 20])
def test_the_share_of_pairs_met_again_is_that_counted_by_hand(
    encode_batch: int, retabulate: int
) -> None:
    agent = tiny_agent(
        with_training(replace(TINY, encode_batch=encode_batch), retabulate=retabulate)
    )
    met, again = 0, 0
    assign, end = agent.replay.assign, agent.replay.end_terminal

    def watch(change: Callable[[], Any]) -> Any:
        nonlocal met, again
        before = Counter(step[:2] for step in assigned(agent))
        done = change()
        for pair, count in (Counter(step[:2] for step in assigned(agent)) - before).items():
            met += count
            again += count - (pair not in before)
        return done

    agent.replay.assign = lambda *given: watch(lambda: assign(*given))  # type: ignore[method-assign]
    agent.replay.end_terminal = lambda *given: watch(lambda: end(*given))  # type: ignore[method-assign]
    Wanderer(agent).live(110)
    assert agent.replay.oldest == 0
    # Every transition in the table was met once: none slipped in otherwise.
    assert met == agent.table.n_transitions > 80
    assert agent.metrics()["table/revisited"] == again / met
    assert 0 < again < met


def test_metrics_are_of_the_time_since_the_last_row() -> None:
    agent = tiny_agent(with_training(retabulate=20))
    life = Wanderer(agent)
    life.live(120)
    row = agent.metrics()
    assert 0 < row["table/reassigned"] <= 1
    assert row["train/steps"] == training_steps(agent) == 26
    assert row["table/states"] == len(agent.table)
    assert row["table/transitions"] == agent.table.n_transitions
    assert row["table/lookup_distance"] >= -1
    assert row["agent/epsilon"] == TINY.exploration.epsilon_at(120)
    terms = [row[f"train/{name}"] for name in ("reconstruction", "transition", "entropy")]
    assert row["train/free_energy"] == pytest.approx(terms[0] + terms[1] - terms[2], abs=1e-4)
    assert "train/free_energy" not in agent.metrics()


def test_steps_of_a_burn_in_that_is_tabulated_at_its_end_revisit_nothing() -> None:
    config = replace(TINY, tabulate_burn_in=False, exploration=exploring(60))
    agent = tiny_agent(with_training(config, every=10**6))
    life = Wanderer(agent)
    life.live(59)
    assert agent.table.n_transitions == 0
    life.live(41)
    agent.plan_fully()
    assert agent.table.n_transitions > 80
    met, again = agent._visits.counts().tolist()
    # The last steps of the burn-in waited no longer than random steps do later.
    assert 40 - 7 <= met <= 40 + config.encode_batch + 2
    # Most pairs of eight states were met in the burn-in.
    assert again > met / 2


def test_the_lookup_distance_is_that_of_the_action_that_was_sought_farthest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    agent = tiny_agent(replace(TINY, exploration=exploring(0, 0.0, 0.0)))
    found = ActionValues(np.zeros(4), np.array([0, 2, 7, -1]))
    monkeypatch.setattr(agent._decisions, "estimate", lambda state: found)
    Wanderer(agent).step()
    assert agent.metrics()["table/lookup_distance"] == 7.0


@pytest.mark.parametrize("overlap", [False, True])
def test_reassigned_frames_of_minibatches_and_frames_encoded_again_are_counted_apart(
    overlap: bool,
) -> None:
    agent = tiny_agent(with_training(retabulate=20, overlap=overlap))
    expected: dict[str, list[float]] = {"reassigned": [], "retabulated": []}
    use = agent._states_to_revise

    def watch(result: Any) -> Any:
        states, assigned = agent.replay.states(result.numbers)
        changed = assigned & (states != result.codes)
        sampled = np.arange(len(changed)) < result.sampled
        for name, part in (("reassigned", sampled), ("retabulated", ~sampled)):
            expected[name] += changed[part & assigned].tolist()
        assert len(changed) - result.sampled <= 20
        return use(result)

    agent._states_to_revise = watch  # type: ignore[method-assign]
    Wanderer(agent).live(110)
    agent.close()
    assert agent.replay.oldest == 0
    metrics = agent.metrics()
    for name, changes in expected.items():
        assert metrics[f"table/{name}"] == pytest.approx(np.mean(changes))
    assert 0 < metrics["table/reassigned"] != metrics["table/retabulated"] > 0


def test_nothing_is_reassigned_by_an_encoder_that_does_not_change() -> None:
    still = replace(TINY.model, learning_rate=1e-30)
    agent = tiny_agent(with_training(replace(TINY, model=still), retabulate=20))
    Wanderer(agent).live(120)
    metrics = agent.metrics()
    assert metrics["table/reassigned"] == metrics["table/retabulated"] == 0.0


def test_without_reassignment_states_stay_as_they_were_first() -> None:
    config: VaSTConfig = with_training(reassign=False)
    agent = tiny_agent(config)
    life = Wanderer(agent)
    life.live(60)
    before = agent.replay.states(np.arange(50))[0]
    life.live(60)
    assert "table/reassigned" not in agent.metrics()
    assert np.array_equal(agent.replay.states(np.arange(50))[0], before)


def test_after_the_burst_states_are_those_of_the_encoder_it_has_trained() -> None:
    config = with_training(overlap=True, burst=6, retabulate=4)
    agent = tiny_agent(replace(config, tabulate_burn_in=False))
    walk = Wanderer(agent)
    walk.live(config.exploration.burn_in)
    assert (agent.burst_left, training_steps(agent)) == (0, 6)
    frames = np.stack([picture(row, column) for row in range(4) for column in range(4)])
    encoder = agent.encoder
    assert isinstance(encoder, Tabulator)
    np.testing.assert_array_equal(encoder.encode(frames), encoder.encode(frames, newest=True))
    published = encoder.state_dict()
    for name in published:
        if name.startswith("published/"):
            newest = published[name.replace("published/", "model/encoder.")]
            np.testing.assert_array_equal(published[name], newest, err_msg=name)
    agent.close()


def test_a_burst_that_is_saved_in_its_middle_goes_on_from_there() -> None:
    config = replace(with_training(overlap=True, burst=6), tabulate_burn_in=False)
    whole, first, second = (tiny_agent(config) for _ in range(3))
    walks = [Wanderer(whole), Wanderer(first)]
    for walk in walks:
        walk.live(config.exploration.burn_in - 1)
        walk.step(train=False)
        while walk.agent.burst_left > 2:
            walk.agent.train()
    second.load_state_dict(first.state_dict(), [first.replay.frames_since(0)])
    walks[1].agent = second
    for walk in walks:
        walk.train()
        walk.live(30)
    assert identical(whole.state_dict(), second.state_dict())
    for agent in (whole, first, second):
        agent.close()
