"""`agent.learn(steps, out=DIR)`: a run directory for an agent that a program has made."""

import json
import logging
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from vast.agents.base import Agent
from vast.agents.registry import PRESETS, known_agents
from vast.agents.table import TableAgent
from vast.errors import UserError
from vast.experiments import run_directory as files
from vast.experiments.config import RunConfig, loop_of
from vast.experiments.lock import locked, require_unlocked
from vast.experiments.own_env import OwnEnv
from vast.experiments.own_map import hashed
from vast.experiments.run_log import warnings_to
from vast.experiments.runs import Run, placed, require_place
from vast.tasks import ANYWHERE, GYM, OWN_MAZE, TASKS, task_named
from vast.training.callbacks import Callback
from vast.training.protocol import Env

log = logging.getLogger(__name__)

KNOWN = ("gymnasium", "vast")
"""packages whose environments every process knows"""
MAP_OPTIONS = {"wad", "map_name"}
PYTHON = "python:"
"""before the class of an environment that only a program can make, in place of a task"""


def record(
    agent: Agent,
    directory: Path,
    steps: int,
    *,
    test_env: Env | None,
    callbacks: Iterable[Callback],
    quiet: bool,
) -> bool:
    """Let an agent learn up to `steps` in all, in a run directory.

    Return whether it was interrupted; it is saved in any case. UserError, and nothing changed, if
    the directory is not empty and holds another run than the agent's.
    """
    require_unlocked(directory)
    config = hashed(_continued(agent, directory, run_of(agent, steps)))
    require_place(directory, config)
    with (
        locked(directory),
        warnings_to(directory / files.LOG) as begin_log,
        placed(directory, config) as here,
        closing(Run(directory, here, agent, test_env)) as run,
    ):
        run.go_on()
        files.write_config(directory, here)
        begin_log()
        if here.own_env is not None:
            untested = "" if test_env else "; without a test_env there are no test epochs"
            reason = here.own_env.reason
            log.warning("this run cannot be resumed from the shell: %s%s", reason, untested)
        agent.run_directory = directory.resolve()
        run.train(callbacks=callbacks, quiet=quiet)
        return run.interrupted


def _continued(agent: Agent, directory: Path, config: RunConfig) -> RunConfig:
    """Return the config with what is settled if the directory holds a run: it must be the agent's.

    UserError if the agent was not loaded from there, or the run has gone on since.
    """
    if not (directory / files.CONFIG).exists():
        return config
    there, at = files.read_config(directory), _saved_at(directory)
    if agent.run_directory != directory.resolve() or at > agent.steps:
        load = f"{type(agent).__name__}.load({str(directory)!r}, env)"
        raise UserError(
            f"{directory} holds a run at step {at}, got an agent at step {agent.steps}: "
            f"to go on with that run, use {load}; otherwise choose another directory"
        )
    return replace(config, preset=there.preset, loop=there.loop, interventions=there.interventions)


def _saved_at(directory: Path) -> int:
    """Return the step at which the run in a directory was last saved; 0 if it never was."""
    try:
        lines = (directory / files.SAVES).read_text(encoding="utf-8").splitlines()
        return int(json.loads(lines[-1])["step"]) if lines else 0
    except (OSError, ValueError, KeyError, TypeError):
        return 0


def run_of(agent: Agent, steps: int) -> RunConfig:
    """Return the run that an agent in its environment is; UserError if it cannot be described."""
    kind, known = type(agent), known_agents()
    if agent.name not in known or known[agent.name].agent_class is not kind:
        raise UserError(
            f"an agent with a run directory must be one of {', '.join(known)}, "
            f"got {kind.__name__}: use agent.save"
        )
    if isinstance(agent, TableAgent) and agent.has_own_encoder:
        raise UserError(
            "an agent with a run directory must have the encoder of its config, "
            f"got {type(agent.encoder).__name__}: use agent.save"
        )
    place = place_of(agent)
    preset = agent.preset if agent.preset in PRESETS else "cpu"
    scale = ANYWHERE[preset] if place.own_env else task_named(place.task).scale(preset)
    return RunConfig(
        task=place.task,
        agent=agent.name,
        preset=agent.preset,
        seed=agent.seed,
        steps=steps,
        settings=agent.config,
        wad=place.wad,
        map=place.map,
        threads=agent.threads,
        device=agent.device_name,
        loop=loop_of(scale),
        own_env=place.own_env,
    )


@dataclass(frozen=True)
class Place:
    """Where an agent learns, in the words of a run's config."""

    task: str
    wad: str | None = None
    map: str | None = None
    own_env: OwnEnv | None = None


def place_of(agent: Agent) -> Place:
    """Return the task that an agent's environment is, or why the shell cannot make it."""
    env = agent.trainer.actor.env
    spec = env.spec
    name = type(env.unwrapped).__name__
    if spec is None or spec.id not in gymnasium.registry:
        return _own(agent, f"its environment, {name}, was not made by gymnasium.make")
    changes = _changes(spec)
    task = next((task for task in TASKS.values() if task.env == spec.id), None)
    if task is not None and not changes:
        return Place(task.name)
    if changes.keys() <= MAP_OPTIONS and (spec.id == OWN_MAZE or (task and task.is_doom)):
        wad, map_name = changes.get("wad"), changes.get("map_name")
        named = Path(wad).name if task is None and wad else spec.id
        return Place(task.name if task else named, wad and str(wad), map_name)
    if changes:
        options = ", ".join(f"{key}={value!r}" for key, value in changes.items())
        said = " ".join(options.split())  # an array's rows are lines
        return _own(agent, f"its environment is {spec.id} with other options: {said}")
    if agent.env_id is not None and ":" in agent.env_id:
        return Place(f"{GYM}{agent.env_id}")
    if type(env.unwrapped).__module__.partition(".")[0] in KNOWN:
        return Place(f"{GYM}{spec.id}")
    return _own(
        agent,
        f"{spec.id} is registered by a module that the shell does not import: "
        f"if it can, make the agent from 'MODULE:{spec.id}'",
    )


def _changes(spec: Any) -> dict[str, Any]:
    """Return in which options an environment differs from what its id alone gives."""
    usual = gymnasium.registry[spec.id]
    changes = {
        name: value
        for name, value in spec.kwargs.items()
        if name != "render_mode"
        and not (name in usual.kwargs and _is_same(value, usual.kwargs[name]))
    }
    if spec.max_episode_steps != usual.max_episode_steps:
        changes["max_episode_steps"] = spec.max_episode_steps
    if not _is_same(spec.additional_wrappers, usual.additional_wrappers):
        changes["wrappers"] = [wrapper.name for wrapper in spec.additional_wrappers]
    return changes


def _is_same(option: Any, usual: Any) -> bool:
    """Tell whether an option is the usual one; of arrays inside others nobody can tell."""
    if isinstance(option, np.ndarray) or isinstance(usual, np.ndarray):
        return type(option) is type(usual) and np.array_equal(option, usual)
    try:
        return bool(option == usual)
    except ValueError:
        return False


def _own(agent: Agent, reason: str) -> Place:
    spaces = agent.spaces
    world = type(agent.trainer.actor.env.unwrapped).__name__
    own = OwnEnv(reason, spaces.shape, spaces.dtype.name, spaces.n_actions)
    return Place(f"{PYTHON}{world}", own_env=own)
