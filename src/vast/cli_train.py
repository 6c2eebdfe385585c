"""The options of `vast train`: those of the run, and every field of the agent's config.

Which fields there are, and what they are by default, depends on the task, the agent and the
preset. So the arguments are read twice: for these three, and then for all.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, make_dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import tyro

from vast.agents.registry import kind_named
from vast.envs.tasks import TASKS
from vast.errors import UserError
from vast.experiments.config import RunConfig, default_run
from vast.experiments.folder import read_config
from vast.training.loop import LoopConfig


@dataclass(frozen=True)
class TrainOptions:
    """Train an agent on a task, or go on with the run in the folder."""

    task: tyro.conf.Positional[str] = ""
    """one of `vast tasks`"""
    agent: str = "vast"
    """which agent; see `vast tasks`"""
    preset: str = "cpu"
    """paper: every number as published; cpu: minutes on two cores; debug: seconds"""
    config: Path | None = None
    """the config.json of another run, to take every number from instead of the preset"""
    steps: int = 0
    """environment steps in all"""
    seed: int = 0
    """from which all chance follows"""
    out: Path | None = None
    """the folder of the run; by default runs/TASK-AGENT-PRESET-SEED"""
    wad: str | None = None
    """a map file of your own for a Doom task's rules"""
    map: str | None = None
    """the map in it"""
    interventions: tuple[str, ...] = ()
    """what happens when: STEP:reverse, STEP:map=NAME, STEP:run=NAME"""
    threads: int = 1
    """of torch and NumPy"""
    loop: LoopConfig = field(default_factory=LoopConfig)
    """test epochs and rows of metrics"""


SHARED = tuple(
    name.name for name in fields(TrainOptions) if name.name not in ("config", "out", "task")
)
"""what the options and a run's config have in common, beside the task"""


def parse_train(arguments: Sequence[str]) -> tuple[Path, RunConfig]:
    """Return the folder and the config of the run that is asked for."""
    chosen, _ = tyro.cli(
        TrainOptions, args=_without_help(arguments), return_unknown_args=True, prog="vast train"
    )
    base = _base(chosen, arguments)
    settings = (
        "settings",
        Annotated[kind_named(base.agent).config, tyro.conf.arg(name="")],
        field(default=base.settings),
    )
    options: Any = make_dataclass(
        "Train", [settings], bases=(TrainOptions,), frozen=True, namespace={"__doc__": DOC}
    )
    default = options(
        task=base.task,
        settings=base.settings,
        **{name: getattr(base, name) for name in SHARED},
    )
    asked = tyro.cli(options, args=list(arguments), default=default, prog="vast train")
    config = replace(
        base, settings=asked.settings, **{name: getattr(asked, name) for name in SHARED}
    )
    name = f"{config.task}-{config.agent}-{config.preset}-{config.seed}"
    return asked.out or Path("runs", name), config


DOC = TrainOptions.__doc__


def _base(chosen: TrainOptions, arguments: Sequence[str]) -> RunConfig:
    """Return the run from which the options depart."""
    if chosen.config is None:
        if not chosen.task:
            raise UserError(f"Missing from vast train: TASK; allowed are {', '.join(TASKS)}")
        return default_run(chosen.task, chosen.agent, chosen.preset)
    for option in ("--agent", "--preset"):
        if any(word.split("=")[0] == option for word in arguments):
            raise UserError(f"{option} with --config: every number is taken from that file")
    base = read_config(chosen.config)
    if chosen.task not in ("", base.task):
        raise UserError(f"task {chosen.task!r} with the config of a run on {base.task!r}")
    return base


def _without_help(arguments: Sequence[str]) -> list[str]:
    """Return the arguments for the first reading; help is given by the second one."""
    rest = [word for word in arguments if word not in ("-h", "--help")]
    has_task = bool(rest) and not rest[0].startswith("-")
    return rest if has_task or rest == list(arguments) else [next(iter(TASKS)), *rest]
