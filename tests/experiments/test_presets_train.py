"""Every preset of every agent trains on every task: it learns, plans, saves and is tested."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vast.agents.registry import AGENTS, PRESETS
from vast.cli.train import parse_train
from vast.experiments.config import default_run
from vast.planning import TransitionTable
from vast.tasks import TASKS, make_env
from vast.training.plain import with_changes
from vast.training.protocol import Env

BURN_IN, STEPS = 16, 40
CUT: dict[str, Any] = {
    "exploration.burn_in": BURN_IN,
    "exploration.anneal_steps": 4,
    "exploration.final": 0.5,
}
CUT_VAST = {
    **CUT,
    "replay.capacity": 1000,
    "training.batch": 16,
    "training.segment": 1,
    "training.every": 12,
    "training.process": False,  # the same to the last bit, and started at once
    "encode_batch": 8,
}
CUT_NETWORK = {**CUT, "replay": 1000, "train_interval": 12, "batch": 8}

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=list(TASKS))
def worlds(request: pytest.FixtureRequest) -> Iterator[tuple[str, Env, Env]]:
    """A task, and two environments of it, shared by all agents."""
    envs = make_env(request.param), make_env(request.param)
    yield request.param, *envs
    for env in envs:
        env.close()


@pytest.mark.parametrize("preset", list(PRESETS))
@pytest.mark.parametrize("name", list(AGENTS))
def test_it_trains_plans_saves_and_is_tested(
    worlds: tuple[str, Env, Env], name: str, preset: str, tmp_path: Path
) -> None:
    task, env, test_env = worlds
    config = default_run(task, name, preset).settings
    if name == "vast":
        burst = {"training.burst": 2} if config.training.burst else {}
        config = with_changes(config, {**CUT_VAST, **burst})
    elif hasattr(config, "train_interval"):
        early = {"standardise_after": BURN_IN} if config.standardise_after else {}
        short = {"n_steps": 5} if name == "nec" else {}
        config = with_changes(config, {**CUT_NETWORK, **early, **short})
    else:
        config = with_changes(config, CUT)
    assert_it_learns(name, config, env, test_env, tmp_path)


@pytest.mark.parametrize(
    "changes", [{}, {"model.prior": "fixed"}, {"planning.planner": "background"}]
)
def test_plain_vast_and_its_arms_train_on_every_task(
    worlds: tuple[str, Env, Env], changes: dict[str, Any], tmp_path: Path
) -> None:
    task, env, test_env = worlds
    run = parse_train([task, "--plain"]).config
    assert run.settings == replace(default_run(task, "vast", "cpu").settings, extensions=())
    config = with_changes(run.settings, {**CUT_VAST, "training.burst": 2, **changes})
    assert_it_learns("vast", config, env, test_env, tmp_path)


def assert_it_learns(name: str, config: Any, env: Env, test_env: Env, tmp_path: Path) -> None:
    agent = AGENTS[name].agent_class(env, config=config)
    agent.learn(STEPS)
    metrics = agent.metrics()
    if name in ("vast", "nec", "ddqn"):
        assert metrics["train/steps"] >= 2
    table = getattr(agent, "table", None)
    if table is not None:
        assert isinstance(table, TransitionTable)
        assert len(table) > 0
        table.add(1, 0, 1.0, None)
        table.add(2, 0, 0.0, 1)
        table.sweep()
        assert table.value(2) > 0  # whoever planned: a background planner may have been faster
    agent.save(tmp_path / "agent")
    loaded = type(agent).load(tmp_path / "agent", test_env)
    assert loaded.steps == STEPS
    tested = loaded.evaluate(env, steps=5)
    assert np.isfinite(tested["reward_per_step"])
    agent.close()
    loaded.close()
