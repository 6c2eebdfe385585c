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


def last_actions(agent: VaST, count: int) -> dict[int, list[int]]:
    """Return up to `count` actions of its episode before each frame, newest first.

    Frames whose predecessors are no longer stored are left out.
    """
    saved = agent.replay.state_dict(frames=False)
    found: dict[int, list[int]] = {}
    for i in range(count, len(saved["fate"])):
        actions: list[int] = []
        for before in range(i - 1, i - 1 - count, -1):
            if saved["fate"][before] != Fate.CONTINUED:
                break
            actions.append(int(saved["action"][before]))
        found[agent.replay.oldest + i] = actions
    return found


@pytest.mark.parametrize("count", [1, 2, 3])
def test_each_state_has_the_bits_of_the_actions_before_it_and_keeps_them(count: int) -> None:
    agent = tiny_agent(with_extensions(TAGGED, last_action_count=count))
    life = Wanderer(agent)
    for _ in range(6):
        life.live(70)  # the replay holds 200 frames: some are evicted
        for number, actions in last_actions(agent, count).items():
            (state,), (encoded,) = agent.replay.states([number])
            if encoded:
                bits = sum(1 << (60 - 4 * i + action) for i, action in enumerate(actions))
                assert int(state) & ~CODE == bits
    newest = {int(state) >> 60 for state in agent.table.states()}
    assert newest == {0, 1, 2, 4, 8}
    oldest = {int(state) >> (64 - 4 * count) & 15 for state in agent.table.states()}
    assert oldest == {0, 1, 2, 4, 8}


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


def test_a_policy_knows_as_many_actions_as_states_have() -> None:
    agent = tiny_agent(with_extensions(TAGGED, last_action_count=2))
    Wanderer(agent).live(100)
    policy = agent.policy(0.0, np.random.default_rng(0))
    seen = np.zeros((4, 4, 1), np.uint8)
    policy.begin(seen)
    for action, tag in [(1, 0b0010_0000), (3, 0b1000_0010), (0, 0b0001_1000)]:
        policy.observe(seen, action)
        assert policy.state() >> 56 == tag
    assert agent.encode(np.stack([seen]), [0, 3, 1]) == policy.state()
    policy.begin(seen)
    assert policy.state() >> 56 == 0


def test_more_actions_require_the_last_one() -> None:
    with pytest.raises(UserError, match="last_action_count above 1 requires last_action"):
        with_extensions(last_action=False, last_action_count=2)
    with pytest.raises(UserError, match="last_action_count must be at least 1, got 0"):
        with_extensions(last_action=True, last_action_count=0)


def test_tag_and_code_must_fit_into_a_state() -> None:
    with pytest.raises(UserError, match="at most 64 together, got 62 and 3"):
        LastActionBits(3, 62)
    LastActionBits(3, 61)
    with pytest.raises(UserError, match="at most 64 together, got 59 and 6"):
        LastActionBits(3, 59, 2)
    LastActionBits(3, 58, 2)


class Alternate(gymnasium.Env[Any, Any]):
    """One place that always looks the same; doing something else than before is rewarded."""

    def __init__(self, steps_before: int) -> None:
        self.observation_space = spaces.Box(-1, 1, (2,), np.float32)
        self.action_space = spaces.Discrete(2)
        self._steps_before = steps_before
        self._actions: list[int] = []

    def reset(self, **_: Any) -> tuple[Any, dict[str, Any]]:
        self._actions = []
        return np.zeros(2, np.float32), {}

    def step(self, action: np.int64) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        before = self._actions[-self._steps_before :][:1]
        differs = len(self._actions) < self._steps_before or before != [int(action)]
        self._actions.append(int(action))
        return np.zeros(2, np.float32), float(differs), False, len(self._actions) == 20, {}


@pytest.mark.parametrize(
    ("steps_before", "changes", "least", "most"),
    [
        (1, {"last_action": False}, 0.0, 0.6),
        (1, {"last_action": True}, 0.95, 1.0),
        (2, {"last_action": True}, 0.0, 0.6),
        (2, {"last_action": True, "last_action_count": 2}, 0.95, 1.0),
    ],
)
def test_what_is_hidden_but_follows_from_the_last_actions_is_learned(
    steps_before: int, changes: dict[str, Any], least: float, most: float
) -> None:
    config: VaSTConfig = replace(
        with_extensions(**changes),
        exploration=ExplorationConfig(200, 1.0, 0.1, 10),
    )
    agent = VaST(Alternate(steps_before), config=config)
    agent.learn(400)
    found = agent.evaluate(Alternate(steps_before), steps=200, epsilon=0.0)["reward_per_step"]
    assert least <= found <= most
    agent.close()
