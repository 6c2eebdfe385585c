"""The same verbs for any Gymnasium environment."""

import os
import re
import signal
import threading
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from tests.agents.worlds import TINY, Grid, picture, with_training
from tests.training.runs import identical
from vast import VaST
from vast.agents.vast.config import VaSTConfig
from vast.errors import UserError
from vast.model.config import ModelConfig


def same(one: VaST, other: VaST) -> bool:
    """Return whether two agents, and where they are in their worlds, are the same."""
    states = [agent._state() for agent in (one, other)]
    for state in states:
        del state["loop"]["wall_seconds"]
    return identical(*states)


@pytest.mark.parametrize(
    "name", ["CartPole-v1", pytest.param("Acrobot-v1", marks=pytest.mark.slow)]
)
def test_it_learns_acts_saves_and_goes_on_exactly(name: str, tmp_path: Path) -> None:
    env, other, test = (gymnasium.make(name) for _ in range(3))
    agent = VaST(env, preset="debug", seed=3).learn(150)
    agent.save(tmp_path / "agent")
    loaded = VaST.load(tmp_path / "agent", other)
    assert same(agent, loaded)
    assert loaded.learn(150).steps == 300
    whole = VaST(gymnasium.make(name), preset="debug", seed=3).learn(300)
    assert same(loaded, whole)
    assert not same(VaST(env, preset="debug", seed=4).learn(300), whole)
    observation, _ = test.reset(seed=1)
    q = loaded.q_values(observation)
    np.testing.assert_array_equal(loaded.q_values(observation.tolist()), q)
    assert q.shape == (test.action_space.n,)  # type: ignore[attr-defined]
    assert loaded.act(observation) in np.flatnonzero(q == q.max())
    brought = loaded.evaluate(test, 120)
    assert identical(brought, whole.evaluate(test, 120))
    assert brought["reward_per_step"] == (1.0 if name == "CartPole-v1" else -1.0)
    for each in (agent, loaded, whole):
        each.close()


@pytest.mark.parametrize("first", [5, 20, 23])
@pytest.mark.parametrize("overlap", [False, True])
def test_whenever_it_was_saved_it_goes_on_exactly(
    first: int, overlap: bool, tmp_path: Path
) -> None:
    config = with_training(burst=3, retabulate=9, overlap=overlap)
    agent = VaST(Grid(), config=config).learn(first)
    agent.save(tmp_path / "agent")
    loaded = VaST.load(tmp_path / "agent", Grid())
    assert same(agent, loaded)
    assert same(agent.learn(60), loaded.learn(60))
    agent.close()
    loaded.close()


def test_saving_twice_and_loading_leaves_what_was_saved_last(tmp_path: Path) -> None:
    agent = VaST(Grid(), config=TINY).learn(40)
    agent.save(tmp_path / "agent")
    agent.learn(40)
    agent.save(tmp_path / "agent")
    assert same(VaST.load(tmp_path / "agent", Grid()), agent)


def test_an_observation_may_come_with_its_history() -> None:
    config = VaSTConfig(
        model=ModelConfig(n_bits=8, history=2, network=TINY.model.network),
        training=TINY.training,
        exploration=TINY.exploration,
    )
    agent = VaST(Grid(), config=config).learn(60)
    frames = np.stack([picture(0, column) for column in range(4)])
    policy = agent.policy()
    policy.begin(frames[0])
    for frame in frames[1:]:
        policy.observe(frame)
    assert np.array_equal(agent.q_values(frames), policy.q_values())
    assert np.array_equal(agent.q_values(frames[1:]), policy.q_values())
    blank = np.concatenate([np.zeros_like(frames[:2]), frames[:1]])
    assert np.array_equal(agent.q_values(frames[0]), agent.q_values(blank))


class Spaces(gymnasium.Env[Any, Any]):
    """An environment of which only the spaces are ever asked for."""

    def __init__(self, seen: spaces.Space[Any], done: spaces.Space[Any]) -> None:
        self.observation_space, self.action_space = seen, done


IMAGE = spaces.Box(0, 255, (8, 8, 3), np.uint8)
TWO = spaces.Discrete(2)


@pytest.mark.parametrize(
    ("seen", "done", "said"),
    [
        (IMAGE, spaces.Box(-1, 1, (2,)), "action space Box.*: allowed is Discrete"),
        (IMAGE, spaces.MultiDiscrete([2, 2]), "action space MultiDiscrete"),
        (IMAGE, spaces.Discrete(257), "action space Discrete.257.*n up to 256"),
        (IMAGE, spaces.Discrete(2, start=1), "allowed is Discrete.n., starting at 0"),
        (spaces.Discrete(16), TWO, "observation space Discrete.16.: allowed is Box"),
        (spaces.Dict({"x": IMAGE}), TWO, "observation space Dict.*: allowed is Box"),
        (spaces.Box(0, 1, (8, 8, 3), np.float32), TWO, "shape .8, 8, 3. and type float32: allowed"),
        (spaces.Box(0, 9, (4,), np.int64), TWO, "shape .4,. and type int64: allowed"),
        (spaces.Box(0, 255, (8, 8), np.uint8), TWO, "shape .8, 8. and type uint8: allowed"),
    ],
)
def test_worlds_it_cannot_live_in_are_refused(
    seen: spaces.Space[Any], done: spaces.Space[Any], said: str
) -> None:
    with pytest.raises(UserError) as error:
        VaST(Spaces(seen, done))
    assert re.search(said, str(error.value))
    assert "\n" not in str(error.value)


def test_what_does_not_fit_is_refused_in_one_line(tmp_path: Path) -> None:
    env = Grid()
    with pytest.raises(UserError, match=r"unknown preset 'papre'.*did you mean 'paper'"):
        VaST(env, preset="papre")
    with pytest.raises(UserError, match=r"config .*: allowed is a VaSTConfig"):
        VaST(env, config={"n_bits": 3})
    agent = VaST(env, config=TINY).learn(30)
    with pytest.raises(UserError, match="steps -1: allowed is 0 or more"):
        agent.learn(-1)
    with pytest.raises(UserError, match=r"observation of shape \(4,\): allowed is \(4, 4, 1\)"):
        agent.act(np.zeros(4))
    with pytest.raises(UserError, match="the environment it learns in: allowed is another one"):
        agent.evaluate(env)
    with pytest.raises(UserError, match="epsilon 2: allowed is 0 to 1"):
        agent.evaluate(Grid(), epsilon=2)
    agent.save(tmp_path / "agent")
    with pytest.raises(UserError, match="does not fit: saved replay: n_actions is 4, here it is 2"):
        VaST.load(tmp_path / "agent", gymnasium.make("CartPole-v1"))
    with pytest.raises(UserError, match="is no checkpoint"):
        VaST.load(tmp_path / "none", Grid())


def test_an_interrupt_lets_the_step_be_finished_and_learning_go_on() -> None:
    agent = VaST(Grid(), config=TINY)
    before = signal.getsignal(signal.SIGINT)
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        agent.learn(1_000_000)
    timer.join()
    assert signal.getsignal(signal.SIGINT) is before
    steps = agent.steps
    assert 0 < steps < 1_000_000
    agent.learn(10)
    whole = VaST(Grid(), config=TINY).learn(steps + 10)
    assert same(agent, whole)
