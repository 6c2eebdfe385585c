"""The last action as part of the state: where it is set, that it stays, and what it is good for."""

from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from tests.agents.worlds import TINY, Wanderer, tiny_agent, with_extensions, with_training
from vast.agents.vast.agent import VaST
from vast.agents.vast.config import VaSTConfig
from vast.agents.vast.extensions.last_action_bits import LastActionBits
from vast.errors import UserError
from vast.replay.episodes import Fate
from vast.training.exploration import ExplorationConfig

CODE = 2**TINY.model.n_bits - 1
TAGGED = replace(
    with_extensions(with_training(TINY, retabulate=5, overlap=True), last_action=True),
    encode_batch=7,
)


def last_actions(agent: VaST) -> dict[int, int | None]:
    """Return the action before each frame whose predecessor is stored, None at a start."""
    saved = agent.replay.state_dict(frames=False)
    oldest = agent.replay.oldest
    found: dict[int, int | None] = {}
    for i in range(1, len(saved["fate"])):
        went_on = saved["fate"][i - 1] == Fate.CONTINUED
        found[oldest + i] = int(saved["action"][i - 1]) if went_on else None
    return found


def test_each_state_has_the_bit_of_the_action_before_it_and_keeps_it() -> None:
    agent = tiny_agent(TAGGED)
    life = Wanderer(agent)
    for _ in range(6):
        life.live(70)  # the replay holds 200 frames: some are evicted
        for number, action in last_actions(agent).items():
            (state,), (encoded,) = agent.replay.states([number])
            if encoded:
                bit = 0 if action is None else 1 << (60 + action)
                assert int(state) & ~CODE == bit
    assert {int(state) >> 60 for state in agent.table.states()} == {0, 1, 2, 4, 8}


def test_the_bits_of_the_code_are_those_without_the_extension() -> None:
    """Tags change which transitions are counted together, not the code of an observation."""
    agent = tiny_agent(replace(TAGGED, exploration=ExplorationConfig(10**6, 1.0, 1.0, 1)))
    Wanderer(agent).live(150)
    numbers = np.arange(agent.replay.oldest, agent.replay.end)
    states, encoded = agent.replay.states(numbers)
    codes = agent.encoder.encode(agent.replay.histories(numbers))
    np.testing.assert_array_equal(states[encoded] & np.uint64(CODE), codes[encoded])


def test_a_policy_tags_what_it_did_or_what_was_done_in_its_place() -> None:
    agent = tiny_agent(TAGGED)
    Wanderer(agent).live(100)
    policy = agent.policy(0.0, np.random.default_rng(0))
    seen = np.zeros((4, 4, 1), np.uint8)
    policy.begin(seen)
    assert policy.state() >> 60 == 0
    action = policy.act()
    policy.observe(seen)
    assert policy.state() >> 60 == 1 << action
    policy.act()
    policy.observe(seen, 3)
    assert policy.state() >> 60 == 8
    policy.begin(seen)
    assert policy.state() >> 60 == 0


def test_tag_and_code_must_fit_into_a_state() -> None:
    with pytest.raises(UserError, match="at most 64 together, got 62 and 3"):
        LastActionBits(3, 62)
    LastActionBits(3, 61)


class Alternate(gymnasium.Env[Any, Any]):
    """One place that always looks the same; doing something else than before is rewarded."""

    def __init__(self) -> None:
        self.observation_space = spaces.Box(-1, 1, (2,), np.float32)
        self.action_space = spaces.Discrete(2)
        self._last, self._steps = -1, 0

    def reset(self, **_: Any) -> tuple[Any, dict[str, Any]]:
        self._last, self._steps = -1, 0
        return np.zeros(2, np.float32), {}

    def step(self, action: np.int64) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        reward = float(action != self._last)
        self._last, self._steps = int(action), self._steps + 1
        return np.zeros(2, np.float32), reward, False, self._steps == 20, {}


@pytest.mark.parametrize(("last_action", "least", "most"), [(True, 0.95, 1.0), (False, 0.0, 0.6)])
def test_what_is_hidden_but_follows_from_the_last_action_is_learned(
    last_action: bool, least: float, most: float
) -> None:
    config: VaSTConfig = replace(
        with_extensions(last_action=last_action),
        exploration=ExplorationConfig(200, 1.0, 0.1, 10),
    )
    agent = VaST(Alternate(), config=config)
    agent.learn(400)
    found = agent.evaluate(Alternate(), steps=200, epsilon=0.0)["reward_per_step"]
    assert least <= found <= most
    agent.close()
