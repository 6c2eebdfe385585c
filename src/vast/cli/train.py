"""The options of `vast train`: those of the run, and every field of the agent's config.

Which fields there are, and their defaults, depends on the task, the agent and the preset. So the
arguments are parsed twice: for these three, and then for all.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, make_dataclass, replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import tyro

from vast.agents.registry import agent_named
from vast.cli.train_help import everyday, everything
from vast.errors import UserError
from vast.experiments.config import RunConfig, default_run
from vast.experiments.run_directory import read_config
from vast.tasks import MAZE_FILE, TASKS, task_named
from vast.training.loop_config import LoopConfig


@dataclass(frozen=True)
class TrainOptions:
    """Train an agent on a task, or resume the run in the directory."""

    task: tyro.conf.Positional[str] = ""
    """one of `vast tasks`, a .maze file, or gym:ENV_ID for any registered Gymnasium environment"""
    agent: str = "vast"
    """which agent; see `vast tasks`"""
    preset: str = "cpu"
    """paper: as published, see docs/fidelity.md; cpu: minutes on two cores; debug: seconds"""
    plain: tyro.conf.FlagCreatePairsOff[bool] = False
    """plain VaST: turn off every extension that is ours and not the paper's"""
    config: Path | None = None
    """the config.json of another run, which gives every hyperparameter instead of the preset"""
    steps: int = 0
    """environment steps in all"""
    seed: int = 0
    """the source of all randomness"""
    out: Path | None = None
    """the run directory; by default runs/TASK-AGENT-PRESET-SEED"""
    wad: str | None = None
    """a map file of your own for a Doom task's rules"""
    map: str | None = None
    """the map in it"""
    interventions: tuple[str, ...] = ()
    """what happens when: STEP:reverse, STEP:map=NAME, STEP:run=NAME"""
    threads: int = 1
    """of torch and NumPy"""
    device: str = "cpu"
    """of the networks: cpu, cuda, mps, or auto: the first there is of cuda, mps, cpu"""
    wandb: str | None = None
    """also log to this project at Weights & Biases, by default vast"""
    loop: LoopConfig = field(default_factory=LoopConfig)
    """test epochs and rows of metrics"""


WANDB, PROJECT = "--wandb", "vast"
SHARED = tuple(
    name.name
    for name in fields(TrainOptions)
    if name.name not in ("config", "out", "plain", "task", "wandb")
)
"""what the options and a run's config have in common besides the task"""


class Asked(NamedTuple):
    """What the arguments ask for."""

    directory: Path
    config: RunConfig
    wandb: str | None
    """the project at Weights & Biases to log to"""


def parse_train(arguments: Sequence[str]) -> Asked:
    """Return the run that the arguments describe."""
    arguments = _with_project(arguments)
    chosen, _ = tyro.cli(
        TrainOptions, args=_without_help(arguments), return_unknown_args=True, prog="vast train"
    )
    base = _base(chosen, arguments)
    if chosen.plain:
        base = replace(base, settings=without_extensions(base))
    options = options_class(base.agent)
    default = options(
        task=base.task,
        settings=base.settings,
        **{name: getattr(base, name) for name in SHARED},
    )
    for word, help_on in HELP.items():
        if word in arguments:
            print(help_on(default))
            raise SystemExit
    asked = tyro.cli(options, args=list(arguments), default=default, prog="vast train")
    if asked.wad != base.wad:
        if chosen.task.endswith(MAZE_FILE):
            raise UserError(f"--wad must not be given with {chosen.task}, got {asked.wad!r}")
        base = replace(base, wad_sha256=None)
    config = replace(
        base, settings=asked.settings, **{name: getattr(asked, name) for name in SHARED}
    )
    task = re.sub(r"[^\w.-]+", "-", config.task)
    name = f"{task}-{config.agent}-{config.preset}-{config.seed}"
    return Asked(asked.out or Path("runs", name), config, asked.wandb)


def _with_project(arguments: Sequence[str]) -> list[str]:
    """Return the arguments with the project after a bare --wandb."""
    given: list[str] = []
    for word, after in zip(arguments, [*arguments[1:], "-"], strict=True):
        given.append(word)
        if word == WANDB and after.startswith("-"):
            given.append(PROJECT)
    return given


def options_class(agent: str) -> Any:
    """Return the class of all options: those of the run, and the fields of the agent's config."""
    kind = agent_named(agent).config_class
    settings = (
        "settings",
        Annotated[kind, tyro.conf.arg(name="")],
        field(default_factory=kind),
    )
    doc = TrainOptions.__doc__
    return make_dataclass(
        "Train", [settings], bases=(TrainOptions,), frozen=True, namespace={"__doc__": doc}
    )


HELP = {"--help-all": everything, "--help": everyday, "-h": everyday}
"""what asks for help, and what gives it"""


def _base(chosen: TrainOptions, arguments: Sequence[str]) -> RunConfig:
    """Return the run that the options modify."""
    if chosen.config is None:
        if not chosen.task:
            names = ", ".join([*TASKS, f"FILE{MAZE_FILE}"])
            raise UserError(f"vast train needs a TASK: one of {names}, or gym:ENV_ID")
        return default_run(chosen.task, chosen.agent, chosen.preset)
    for option in ("--agent", "--preset"):
        if any(word.split("=")[0] == option for word in arguments):
            raise UserError(f"{option} must not be given with --config, which sets it")
    base = read_config(chosen.config)
    if not chosen.task:
        return base
    task = task_named(chosen.task)
    if task.name != base.task:
        raise UserError(f"task must be {base.task!r}, as in --config, got {chosen.task!r}")
    return replace(base, wad=chosen.task, wad_sha256=None) if task.is_own_maze else base


def without_extensions(run: RunConfig) -> Any:
    """Return the settings of plain VaST; UserError for another agent, which has no extensions."""
    if run.agent != "vast":
        raise UserError(f"--plain requires the agent 'vast', got {run.agent!r}")
    return replace(run.settings, extensions=())


def _without_help(arguments: Sequence[str]) -> list[str]:
    """Return the arguments without those that ask for help, which needs some task."""
    rest = [word for word in arguments if word not in HELP]
    has_task = bool(rest) and not rest[0].startswith("-")
    return rest if has_task or rest == list(arguments) else [next(iter(TASKS)), *rest]
