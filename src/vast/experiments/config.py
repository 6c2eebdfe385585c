"""Everything that a run depends on, in one place that is saved with it."""

import re
from dataclasses import dataclass, field
from typing import Any

from vast.agents.registry import kind_named
from vast.envs.tasks import TASKS, task_named
from vast.errors import UserError, unknown
from vast.experiments.interventions import FORCED_RUNS, ReverseRewards, SwitchMap
from vast.training.loop import LoopConfig
from vast.training.protocol import Intervention


@dataclass(frozen=True)
class RunConfig:
    """One run: an agent, a task, a seed, and every number."""

    task: str
    """one of `vast tasks`"""
    agent: str
    """which agent"""
    preset: str
    """what its numbers were taken from"""
    seed: int
    """from which all chance in the run follows"""
    steps: int
    """environment steps in all; the one field that may change when a run is resumed"""
    settings: Any
    """the agent's own config"""
    wad: str | None = None
    """a map file of the user's own instead of the task's; a Doom task's rules hold there"""
    map: str | None = None
    """the map in it"""
    interventions: tuple[str, ...] = ()
    """what happens when, as STEP:WHAT; WHAT is reverse, map=NAME or run=NAME"""
    threads: int = 1
    """of torch and NumPy; sums come out differently in the last digits with another number"""
    loop: LoopConfig = field(default_factory=LoopConfig)
    """test epochs and rows of metrics"""

    def __post_init__(self) -> None:
        task_named(self.task)
        kind_named(self.agent)
        for name, least in (("seed", 0), ("steps", 1), ("threads", 1)):
            if getattr(self, name) < least:
                raise UserError(f"{name} {getattr(self, name)}: allowed is {least} or more")
        planned_interventions(self.interventions)


def planned_interventions(texts: tuple[str, ...]) -> list[tuple[int, Intervention]]:
    """Return interventions and their steps from their texts."""
    return [_planned(text) for text in texts]


def _planned(text: str) -> tuple[int, Intervention]:
    found = re.fullmatch(r"(\d+):(reverse|map=(\w+)|run=([\w-]+))", text)
    if found is None:
        raise UserError(
            f"intervention {text!r}: allowed are STEP:reverse, STEP:map=NAME and STEP:run=NAME"
        )
    step, what, map_name, run = found.groups()
    if what == "reverse":
        return int(step), ReverseRewards()
    if map_name:
        return int(step), SwitchMap(map_name)
    if run not in FORCED_RUNS:
        raise unknown("forced run", run, FORCED_RUNS)
    return int(step), FORCED_RUNS[run]


PAPER_STEPS = {
    "t-maze": 300_000,
    "t-maze-2d": 300_000,
    "large-maze": 2_000_000,
    "large-maze-hazards": 2_000_000,
    "h-maze": 1_000_000,
    "plus-maze": 400_000,
    "pong": 5_000_000,
}
CPU_STEPS = {
    "t-maze": 10_000,
    "t-maze-2d": 10_000,
    "large-maze": 600_000,
    "large-maze-hazards": 600_000,
    "h-maze": 150_000,
    "plus-maze": 30_000,
    "pong": 200_000,
}
DEBUG_STEPS = 400
"""how long a run is unless its user says otherwise"""


def default_run(task: str, agent: str, preset: str) -> RunConfig:
    """Return the run that a task, an agent and a preset stand for."""
    settings = kind_named(agent).preset(preset, task, task_named(task).shape)
    steps = {"paper": PAPER_STEPS, "cpu": CPU_STEPS}.get(preset, dict.fromkeys(TASKS, DEBUG_STEPS))
    return RunConfig(task, agent, preset, 0, steps[task], settings, loop=_loop(task, preset))


def _loop(task: str, preset: str) -> LoopConfig:
    if preset == "debug":
        return LoopConfig(eval_every=200, eval_steps=50, log_every=50)
    if preset == "cpu" and CPU_STEPS[task] >= 100_000:
        return LoopConfig(eval_every=10_000, eval_steps=1000, log_every=1000)
    if preset == "cpu":
        return LoopConfig(eval_every=2500, eval_steps=1000, log_every=500)
    if task == "pong":
        return LoopConfig(eval_every=50_000, eval_steps=10_000)
    return LoopConfig()
