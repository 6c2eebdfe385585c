"""Every kind of agent: its presets and configs, and the public class with the same verbs."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import vast
from tests.agents.worlds import Grid
from tests.training.runs import identical
from vast.agents import registry
from vast.agents.public import LearningAgent
from vast.envs.tasks import TASKS
from vast.errors import UserError
from vast.experiments.config import default_run
from vast.experiments.folder import run_config
from vast.training.plain import to_plain

BASELINES = {"lsh": "LSH", "mfec": "MFEC", "nec": "NEC", "ddqn": "PrioritizedDDQN"}

baselines = pytest.mark.parametrize("kind", list(BASELINES))


def public(kind: str) -> type[LearningAgent]:
    found: type[LearningAgent] = getattr(vast, BASELINES[kind])
    return found


def state(agent: LearningAgent) -> dict[str, Any]:
    found = agent._state()
    del found["loop"]["wall_seconds"]
    return found


@pytest.mark.parametrize("preset", ["paper", "cpu", "debug"])
@pytest.mark.parametrize("task", list(TASKS))
@pytest.mark.parametrize("agent", list(registry.KINDS))
def test_the_config_of_a_run_comes_back_from_json(agent: str, task: str, preset: str) -> None:
    config = default_run(task, agent, preset)
    assert run_config(json.loads(json.dumps(to_plain(config)))) == config


@pytest.mark.parametrize("preset", ["paper", "cpu", "debug"])
@pytest.mark.parametrize("task", list(TASKS))
@baselines
def test_what_agents_are_compared_in_is_the_same_for_all(kind: str, task: str, preset: str) -> None:
    theirs = default_run(task, "vast", preset)
    mine = default_run(task, kind, preset)
    assert mine.settings.exploration == theirs.settings.exploration
    assert mine.settings.resize == theirs.settings.resize
    assert mine.settings.history == theirs.settings.model.history
    assert mine.loop == theirs.loop
    assert mine.steps == theirs.steps


def test_the_plus_maze_has_the_papers_schedule() -> None:
    for kind in BASELINES:
        exploration = default_run("plus-maze", kind, "paper").settings.exploration
        assert (exploration.burn_in, exploration.anneal_steps) == (10_000, 40_000)


@baselines
def test_it_learns_acts_saves_and_goes_on_exactly(kind: str, tmp_path: Path) -> None:
    env, other, test = (gymnasium.make("CartPole-v1") for _ in range(3))
    agent = public(kind)(env, preset="debug", seed=3).learn(150)
    agent.save(tmp_path / "agent")
    loaded = public(kind).load(tmp_path / "agent", other)
    assert identical(state(agent), state(loaded))
    assert loaded.learn(150).steps == 300
    whole = public(kind)(gymnasium.make("CartPole-v1"), preset="debug", seed=3).learn(300)
    assert identical(state(loaded), state(whole))
    observation, _ = test.reset(seed=1)
    q = loaded.q_values(observation)
    assert q.shape == (2,)
    assert loaded.act(observation) in np.flatnonzero(q == q.max())
    assert identical(loaded.evaluate(test, 120), whole.evaluate(test, 120))
    for each in (agent, loaded, whole):
        each.close()


@pytest.mark.parametrize("kind", ["nec", "ddqn"])
def test_debug_trains_before_step_300(kind: str) -> None:
    agent = public(kind)(Grid(), preset="debug").learn(299)
    assert agent.mind.metrics()["train/steps"] == 50


@baselines
def test_an_observation_may_come_with_its_history(kind: str) -> None:
    config = replace(registry.kind_named(kind).preset("debug", None, (4, 4, 1)), history=2)
    agent = public(kind)(Grid(), config=config).learn(130)
    frames = np.random.default_rng(0).integers(0, 256, (3, 4, 4, 1)).astype(np.uint8)
    policy = agent.policy()
    policy.begin(frames[0])
    policy.observe(frames[1])
    policy.observe(frames[2])
    assert np.array_equal(agent.q_values(frames), policy.q_values())


def test_another_agents_checkpoint_is_refused(tmp_path: Path) -> None:
    vast.LSH(Grid(), preset="debug").learn(10).save(tmp_path / "agent")
    with pytest.raises(UserError, match="unknown agent in the checkpoint 'lsh'"):
        vast.MFEC.load(tmp_path / "agent", Grid())


def test_the_registry_of_agents_loads_nothing_heavy() -> None:
    code = (
        "import sys, vast.agents.registry\n"
        "heavy = ('torch', 'numba', 'matplotlib', 'vizdoom', 'faiss')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout == "[]\n"
