"""Every agent: its presets and configs, and the public class with the same verbs."""

import json
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import vast
from tests.agents.worlds import Grid
from tests.training.runs import identical
from vast.agents import registry
from vast.agents.base import Agent
from vast.agents.vast.config import ExtensionsConfig
from vast.agents.vast.presets import CPU, PAPER
from vast.errors import UserError
from vast.experiments.config import default_run
from vast.experiments.run_directory import run_config
from vast.tasks import TASKS
from vast.training.plain import to_plain, with_changes
from vast.training.spaces import Spaces

BASELINES = {"lsh": "LSH", "mfec": "MFEC", "nec": "NEC", "ddqn": "PrioritizedDDQN"}
ACTIONS = {"t-maze-2d": 4}
"""of a task; the others have three"""

agents = pytest.mark.parametrize("agent", list(registry.AGENTS))
baselines = pytest.mark.parametrize("name", list(BASELINES))
presets = pytest.mark.parametrize("preset", list(registry.PRESETS))
tasks = pytest.mark.parametrize("task", list(TASKS))


def public(name: str) -> type[Agent]:
    found: type[Agent] = getattr(vast, BASELINES[name])
    return found


def state(agent: Agent) -> dict[str, Any]:
    found = agent.trainer.state_dict()
    del found["wall_seconds"]
    return found


def test_a_task_may_have_its_own_weight_of_reconstruction_instead_of_that_of_its_size() -> None:
    weights = {
        task: default_run(task, "vast", "cpu").settings.model.reconstruction_weight
        for task in ("t-maze", "pong")
    }
    assert weights == {"t-maze": 16.0, "pong": CPU["pong"]["model.reconstruction_weight"]}
    assert weights["pong"] != 16.0


@presets
@tasks
@agents
def test_the_config_of_a_run_comes_back_from_json(agent: str, task: str, preset: str) -> None:
    config = default_run(task, agent, preset)
    assert run_config(json.loads(json.dumps(to_plain(config)))) == config


@pytest.mark.slow
@presets
@tasks
@agents
def test_every_preset_builds_its_agent_for_every_task(agent: str, task: str, preset: str) -> None:
    record = TASKS[task]
    config = default_run(task, agent, preset).settings
    # Memories are allocated when they are written to, but for the replay's columns: these are cut.
    if agent == "vast":
        config = with_changes(config, {"replay.capacity": 1000})
    elif hasattr(config, "replay"):
        config = replace(config, replay=1000)
    dtype = np.dtype(np.uint8 if len(record.shape) == 3 else np.float32)
    made = registry.AGENTS[agent].agent_class(
        Spaces(record.shape, dtype, ACTIONS.get(task, 3)), config=config
    )
    made.begin(np.zeros(record.shape, dtype))
    assert made.decide() in range(made.n_actions)
    made.close()


def test_rows_of_presets_are_of_tasks_that_exist() -> None:
    for table in (PAPER, CPU):
        assert set(table) - {"all", "image", "vector"} <= set(TASKS)


@tasks
def test_the_paper_has_no_extensions_and_plain_vast_turns_all_of_them_off(task: str) -> None:
    paper = default_run(task, "vast", "paper").settings
    assert paper.extensions == ExtensionsConfig()
    assert to_plain(paper)["extensions"] == {}
    cpu = default_run(task, "vast", "cpu").settings
    plain = replace(cpu, extensions=())
    assert plain.extensions == ExtensionsConfig()
    assert cpu.extensions != ExtensionsConfig()
    assert all(
        getattr(plain, field.name) == getattr(cpu, field.name)
        for field in fields(cpu)
        if field.name != "extensions"
    )


@presets
@tasks
@baselines
def test_what_agents_are_compared_in_is_the_same_for_all(name: str, task: str, preset: str) -> None:
    theirs = default_run(task, "vast", preset)
    mine = default_run(task, name, preset)
    assert mine.settings.exploration == theirs.settings.exploration
    assert mine.settings.resize == theirs.settings.resize
    assert mine.settings.history == theirs.settings.model.history
    assert mine.settings.discount == theirs.settings.planning.discount
    assert mine.loop == theirs.loop
    assert mine.steps == theirs.steps


@presets
@tasks
@pytest.mark.parametrize("name", ["nec", "ddqn"])
def test_agents_with_a_network_have_the_same_network_and_replay(
    name: str, task: str, preset: str
) -> None:
    theirs = default_run(task, "vast", preset).settings
    mine = default_run(task, name, preset).settings
    assert mine.network == theirs.model.network
    assert mine.replay == theirs.replay.capacity
    assert mine.compressed == theirs.replay.compressed


@presets
@tasks
def test_planners_have_the_same_budget(task: str, preset: str) -> None:
    config = default_run(task, "vast", preset).settings
    mine, planning = default_run(task, "lsh", preset).settings, config.planning
    steps = 1000 * config.training.every
    training = steps // config.training.every * planning.backups_per_training
    assert steps * mine.backups_per_step == steps * planning.backups_per_step + training
    assert mine.min_priority == planning.min_priority


@tasks
@pytest.mark.parametrize("preset", ["paper", "cpu"])
def test_no_memory_is_smaller_than_the_replay_of_the_mazes(task: str, preset: str) -> None:
    for name in ("mfec", "nec"):
        mine = default_run(task, name, preset).settings
        assert mine.capacity == 500_000  # entries per action
        assert mine.index == "inverted"


@tasks
@pytest.mark.parametrize("preset", ["paper", "cpu"])
def test_beta_reaches_its_final_value_when_the_task_ends_and_not_before(
    task: str, preset: str
) -> None:
    config = default_run(task, "ddqn", preset).settings
    steps = TASKS[task].scale(preset).steps
    assert config.beta_at(config.exploration.burn_in) == 0.5
    assert config.beta_at((config.exploration.burn_in + steps) // 2) == pytest.approx(0.75)
    assert config.beta_at(steps - 1) < 1.0 == config.beta_at(steps)


@agents
def test_small_mazes_have_the_papers_schedule(agent: str) -> None:
    for task, steps in (("plus-maze", 500_000), ("t-maze", 50_000)):
        run = default_run(task, agent, "paper")
        exploration = run.settings.exploration
        assert (exploration.burn_in, exploration.anneal_steps) == (10_000, 40_000)
        assert run.steps == steps


@baselines
def test_it_learns_acts_saves_and_resumes_exactly(name: str, tmp_path: Path) -> None:
    env, other, test = (gymnasium.make("CartPole-v1") for _ in range(3))
    agent = public(name)(env, preset="debug", seed=3).learn(150)
    agent.save(tmp_path / "agent")
    loaded = public(name).load(tmp_path / "agent", other)
    assert identical(state(agent), state(loaded))
    assert loaded.learn(150).steps == 300
    whole = public(name)(gymnasium.make("CartPole-v1"), preset="debug", seed=3).learn(300)
    assert identical(state(loaded), state(whole))
    observation, _ = test.reset(seed=1)
    q = loaded.q_values(observation)
    assert q.shape == (2,)
    assert loaded.act(observation) in np.flatnonzero(q == q.max())
    assert identical(loaded.evaluate(test, 120), whole.evaluate(test, 120))
    for each in (agent, loaded, whole):
        each.close()


@pytest.mark.parametrize("name", ["nec", "ddqn"])
def test_debug_trains_before_step_300(name: str) -> None:
    agent = public(name)(Grid(), preset="debug").learn(299)
    assert agent.metrics()["train/steps"] == 50


@baselines
def test_an_observation_may_come_with_its_history(name: str) -> None:
    config = replace(registry.agent_named(name).preset("debug", None, (4, 4, 1)), history=2)
    agent = public(name)(Grid(), config=config).learn(130)
    frames = np.random.default_rng(0).integers(0, 256, (3, 4, 4, 1)).astype(np.uint8)
    policy = agent.policy()
    policy.begin(frames[0])
    policy.observe(frames[1])
    policy.observe(frames[2])
    assert np.array_equal(agent.q_values(frames), policy.q_values())


def test_another_agents_checkpoint_is_refused(tmp_path: Path) -> None:
    vast.LSH(Grid(), preset="debug").learn(10).save(tmp_path / "agent")
    with pytest.raises(UserError, match="the checkpoint must hold the agent 'mfec', got 'lsh'"):
        vast.MFEC.load(tmp_path / "agent", Grid())


def test_the_registry_of_agents_loads_nothing_heavy() -> None:
    code = (
        "import sys, vast.agents.registry, vast.agents.vast.presets, vast.cli\n"
        "heavy = ('torch', 'numba', 'matplotlib', 'vizdoom', 'faiss')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout == "[]\n"
