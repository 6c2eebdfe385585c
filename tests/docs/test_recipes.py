"""The recipes of docs/recipes.md work as they stand there, as parts of the package."""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from tests.docs.pages import RECIPES, blocks
from tests.experiments.sameness import rows, vast
from vast import tasks
from vast.agents import registry
from vast.agents.vast import config as vast_config
from vast.agents.vast import extensions
from vast.agents.vast.agent import VaST
from vast.agents.vast.presets import preset
from vast.experiments import interventions
from vast.experiments.config import default_run
from vast.training.checkpoint import Checkpoint


def code_below(heading: str) -> list[str]:
    """Return the Python code below a heading."""
    found = (block for block in blocks(RECIPES) if block.heading == heading)
    return [block.code for block in found if block.language == "python"]


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str, str], None]:
    """Return a function that makes code a module of that name."""

    def make(name: str, code: str) -> None:
        path = tmp_path / f"{name}.py"
        path.write_text(code)
        spec = spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        made = module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, made)
        spec.loader.exec_module(made)

    return make


def test_an_agent(module: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    code, entry = code_below("Add an agent")
    module("vast.agents.bandit", code)
    monkeypatch.setattr(registry, "AGENTS", dict(registry.AGENTS))
    exec(entry, registry.__dict__)
    options = ("train", "t-maze-2d", "--agent", "bandit", "--preset", "debug", "--rate", "0.5")
    vast(*options, "--out", tmp_path / "whole")
    vast(*options, "--steps", "130", "--out", tmp_path / "parts")
    vast("resume", tmp_path / "parts", "--steps", "400")
    assert rows(tmp_path / "whole") == rows(tmp_path / "parts")
    settings = json.loads((tmp_path / "parts" / "config.json").read_text())["config"]["settings"]
    assert settings["rate"] == 0.5


def test_a_task(monkeypatch: pytest.MonkeyPatch) -> None:
    (record,) = code_below("Add a task")
    task = eval(record, tasks.__dict__)
    monkeypatch.setattr(tasks, "TASKS", {**tasks.TASKS, task.name: task})
    monkeypatch.setattr(gymnasium, "register", lambda **fields: registered.append(fields))
    registered: list[dict[str, Any]] = []
    tasks.register_all()
    (mine,) = (fields for fields in registered if fields["id"] == "vast/EasyPlus-v0")
    monkeypatch.undo()
    monkeypatch.setattr(tasks, "TASKS", {**tasks.TASKS, task.name: task})
    gymnasium.register(**mine)
    assert default_run("easy-plus", "vast", "cpu").steps == 30_000
    env = tasks.make_env("easy-plus")
    env.reset(seed=0)
    assert env.step(np.int64(1))[1] == -0.01
    env.close()
    del gymnasium.registry["vast/EasyPlus-v0"]


def test_an_extension(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (code,) = code_below("Add an extension")
    module("vast.agents.vast.extensions.optimism", code)

    @dataclass(frozen=True)
    class Extended(vast_config.ExtensionsConfig):
        optimism: float = 0.0

    path = "vast.agents.vast.extensions.optimism:Optimism"
    monkeypatch.setattr(extensions, "EXTENSIONS", (*vast_config.EXTENSIONS, path))
    config = replace(preset("debug", None, (2,)), extensions=Extended(optimism=100.0))
    env = gymnasium.make("vast/TMaze2D-v0")
    agent = VaST(env, config=config).learn(150)
    (known,) = agent.replay.states([0])[0].tolist()
    counts = np.array([agent.table.count(known, action) for action in range(4)])
    adjusted = agent.extensions.adjust(np.zeros(4), known, np.zeros(2))
    assert (adjusted[counts == 0] == 100).all()
    assert (adjusted[counts > 0] == 0).all()
    agent.close()


def test_an_intervention(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (code,) = code_below("Add an intervention")
    monkeypatch.setattr(interventions, "INTERVENTIONS", dict(interventions.INTERVENTIONS))
    exec(code, interventions.__dict__)
    planned = ("--interventions", "20:reverse", "40:restore", "60:restore")
    options = ("--agent", "lsh", "--preset", "debug", "--steps", "80", *planned)
    vast("train", "plus-maze", *options, "--out", tmp_path / "run")
    state, _ = Checkpoint(tmp_path / "run" / "checkpoint").load()
    assert state["intervened"] == 3
    assert state["actor"]["settings"] == {"map_name": "PLUS", "reversed": False}


def test_a_metric() -> None:
    (code,) = code_below("Add a metric")
    names: dict[str, Any] = {"VaST": VaST}
    exec(code, names)
    agent = names["Counting"](gymnasium.make("vast/TMaze2D-v0"), preset="debug")
    position = np.zeros(2, np.float32)
    agent.begin(position)
    for reward, terminated in ((0.0, False), (-1.0, True)):
        agent.observe(0, reward, position, terminated, False)
    metrics = agent.metrics()
    assert metrics["agent/absolute_reward"] == 0.5
    assert metrics["agent/episodes"] == 1
    agent.close()
