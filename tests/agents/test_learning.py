"""VaST learns a maze from pixels; broken anywhere, it does not."""

from collections.abc import Iterator
from dataclasses import replace

import gymnasium
import pytest

from vast import VaST
from vast.agents.vast.presets import preset
from vast.training.exploration import ExplorationConfig
from vast.training.protocol import Env

BURN_IN, STEPS = 2500, 3500


@pytest.fixture(scope="module")
def t_maze() -> Iterator[Env]:
    env = gymnasium.make("vast/TMaze-v0")
    yield env
    env.close()


@pytest.fixture(scope="module")
def agent() -> Iterator[VaST]:
    """Return an agent that had to learn nearly all it knows from revised experience.

    The first 2500 steps are random, and are tabulated when the encoder has hardly been trained.
    In the 1000 steps that follow it is trained, one step each, and all states change: what the
    table knows of the maze it owes to reassignment.
    """
    env = gymnasium.make("vast/TMaze-v0")
    config = preset("cpu", "t-maze", (60, 80, 3))
    config = replace(
        config,
        model=replace(config.model, ema_decay=0.99, learning_rate_steps=1500),
        training=replace(
            config.training, burst=20, every=1, batch=128, segment=8, retabulate=128, overlap=False
        ),
        exploration=ExplorationConfig(BURN_IN, 1.0, 0.1, 500),
    )
    agent = VaST(env, seed=0, config=config)
    agent.learn(STEPS)
    yield agent
    agent.close()
    env.close()


@pytest.mark.slow
def test_it_reaches_a_return_that_no_random_policy_reaches(agent: VaST, t_maze: Env) -> None:
    """A random policy's mean return is about -1.8, and the best possible one about 0.8."""
    brought = agent.evaluate(t_maze, 1000, epsilon=0.05, seed=1)
    assert brought["mean_return"] > 0.3
    assert brought["goals"] >= 12
    assert brought["reward_per_step"] > 0
    chance = agent.evaluate(t_maze, 1000, epsilon=1.0, seed=1)
    assert chance["reward_per_step"] < 0
    assert chance["goals"] <= 6
