"""How many random examples property tests try, and an agent that several tests look at.

HYPOTHESIS_PROFILE=quick, default or long chooses the number of examples.
"""

import os
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import gymnasium
import pytest
from hypothesis import HealthCheck, settings

from tests.browser import browser  # noqa: F401 (a fixture)

if TYPE_CHECKING:
    from vast import VaST
    from vast.training.protocol import Env

EXAMPLES = {"quick": 25, "default": 200, "long": 2500}

for name, examples in EXAMPLES.items():
    settings.register_profile(
        name,
        max_examples=examples,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.fixture(scope="session")
def trained_tmaze() -> "Iterator[tuple[VaST, Env]]":
    """A VaST agent trained on the T-maze for half a minute, and its environment.

    Nobody may change it: a test that lets it learn more works on a copy, by `save` and `load`.
    """
    from vast import VaST
    from vast.agents.vast.presets import preset
    from vast.training.exploration import ExplorationConfig

    config = preset("cpu", "t-maze", (60, 80, 3))
    config = replace(
        config,
        training=replace(config.training, burst=1000),
        exploration=ExplorationConfig(2000, 1.0, 0.1, 2000),
    )
    env = gymnasium.make("vast/TMaze-v0")
    agent = VaST(env, seed=0, config=config)
    agent.learn(6000)
    yield agent, env
    agent.close()
    env.close()
