"""Experiments as data: tasks, arms, seeds, interventions and forks, and the runs that follow.

An arm is an agent with changes of its config. A fork is one continuation of a trained agent: every
arm is trained up to one step, and goes on from there in several ways, each with interventions of
its own. A condition is an arm in a task, or one of its forks; a run is a condition with a seed.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from vast.checks import at_least
from vast.errors import UserError, unknown
from vast.experiments.config import RunConfig, default_run
from vast.experiments.interventions import parse_intervention
from vast.experiments.probes import require_fits
from vast.training.loop_config import LoopConfig
from vast.training.plain import with_changes

NAME = re.compile(r"\w[\w.-]*")
"""what names of arms, forks and experiments look like: they are parts of file names"""


@dataclass(frozen=True)
class Arm:
    """An agent, and how it differs from its preset. None: as the experiment says."""

    agent: str
    """one of `vast tasks`"""
    set: Mapping[str, Any] = field(default_factory=dict)
    """changes of its config, by their names in `config.json`, such as `model.n_bits`"""
    preset: str | None = None
    """from which its hyperparameters are taken"""
    tasks: tuple[str, ...] | None = None
    """only these of the experiment's tasks"""
    seeds: tuple[int, ...] | None = None
    """its own seeds"""
    steps: int | None = None
    """its own number of environment steps"""
    interventions: tuple[str, ...] | None = None
    """its own interventions"""
    forks: tuple[str, ...] | None = None
    """only these of the experiment's forks"""
    probes: tuple[str, ...] | None = None
    """its own probes"""
    label: str = ""
    """what figures call it; by default its name"""


@dataclass(frozen=True)
class Experiment:
    """What is compared with what."""

    name: str
    tasks: tuple[str, ...]
    arms: Mapping[str, Arm]
    seeds: tuple[int, ...]
    about: str = ""
    preset: str = "cpu"
    steps: int | None = None
    """environment steps of a run, forks included; None: as the task's record says"""
    loop: Mapping[str, Any] = field(default_factory=dict)
    """when runs are tested and logged, where it is not as the task's record says"""
    interventions: tuple[str, ...] = ()
    """of every run, as STEP:WHAT"""
    fork_at: int | None = None
    """the step at which trained agents are forked"""
    forks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """the continuations, and the interventions of each"""
    probes: tuple[str, ...] = ()
    """what is measured on the trained agents"""

    def __post_init__(self) -> None:
        for kind, values in (("task", self.tasks), ("arm", self.arms), ("seed", self.seeds)):
            if not values:
                raise UserError(f"{self.name or 'the grid'} must have at least one {kind}")
        for kind, names in (("arm", self.arms), ("fork", self.forks)):
            for name in names:
                if not NAME.fullmatch(name):
                    raise UserError(
                        f"the name of {'an' if kind == 'arm' else 'a'} {kind} must consist of "
                        f"letters, digits, '-', '_' and '.', got {name!r}"
                    )
        if (self.fork_at is None) != (not self.forks):
            raise UserError("forks need both: the step at which to fork, and at least one fork")
        for name, interventions in self.forks.items():
            for text in interventions:
                at_least(self.fork_at or 0, **{f"the step of {text!r} in fork {name}": _step(text)})

    def conditions(self) -> list["Condition"]:
        """Return every arm in every task, each followed by its forks.

        UserError, which names the arm, if its config is wrong.
        """
        found = []
        for task in self.tasks:
            for name, arm in self.arms.items():
                if arm.tasks is None or task in arm.tasks:
                    try:
                        found += self._conditions(task, name, arm)
                    except UserError as error:
                        raise UserError(f"arm {name!r}: {error}") from error
        if not found:
            raise UserError(f"{self.name}: no arm has any of the tasks {', '.join(self.tasks)}")
        _require_different(found)
        return found

    def _conditions(self, task: str, name: str, arm: Arm) -> list["Condition"]:
        for other in arm.tasks or ():
            if other not in self.tasks:
                raise unknown("task of the experiment", other, self.tasks)
        whole = self._config(task, arm)
        seeds = arm.seeds if arm.seeds is not None else self.seeds
        label = arm.label or name
        probes = self.probes if arm.probes is None else arm.probes
        for probe in probes:
            require_fits(probe, whole)
        if self.fork_at is None:
            return [Condition(whole.task, name, None, label, seeds, whole, probes)]
        late = [text for text in whole.interventions if _step(text) > self.fork_at]
        if late:
            raise UserError(
                f"interventions of the arm must be at step {self.fork_at} at most, where it is "
                f"forked, got {late[0]!r}"
            )
        if whole.steps <= self.fork_at:
            raise UserError(f"steps must be above {self.fork_at}, the fork, got {whole.steps}")
        trunk = replace(whole, steps=self.fork_at)
        found = [Condition(whole.task, name, None, label, seeds, trunk)]
        for fork in arm.forks if arm.forks is not None else self.forks:
            if fork not in self.forks:
                raise unknown("fork", fork, self.forks)
            config = replace(whole, interventions=(*whole.interventions, *self.forks[fork]))
            found.append(
                Condition(whole.task, name, fork, label, seeds, config, probes, self.fork_at)
            )
        return found

    def _config(self, task: str, arm: Arm) -> RunConfig:
        """Return the run of an arm in a task, with seed 0."""
        config = default_run(task, arm.agent, arm.preset or self.preset)
        steps = arm.steps or self.steps or config.steps
        interventions = self.interventions if arm.interventions is None else arm.interventions
        loop: LoopConfig = with_changes(config.loop, self.loop)
        settings = with_changes(config.settings, arm.set)
        return replace(
            config, settings=settings, steps=steps, loop=loop, interventions=interventions
        )


@dataclass(frozen=True)
class Condition:
    """One arm in one task, or one of its forks: what differs between its runs is the seed."""

    task: str
    arm: str
    fork: str | None
    """None: an arm that is not forked, or its training up to the fork"""
    label: str
    seeds: tuple[int, ...]
    config: RunConfig
    """with seed 0"""
    probes: tuple[str, ...] = ()
    begins: int = 0
    """the step at which a fork begins"""

    def __post_init__(self) -> None:
        at_least(0, **{f"a seed of arm {self.arm!r}": min(self.seeds, default=0)})

    @property
    def name(self) -> str:
        """TASK-ARM or TASK-ARM-FORK, as it is part of a file name."""
        task = re.sub(r"[^\w.-]+", "-", self.task)
        return "-".join([task, self.arm, *([self.fork] if self.fork else [])])

    @property
    def trunk(self) -> tuple[str, str, None]:
        """The key of the condition that a fork continues."""
        return self.task, self.arm, None

    @property
    def key(self) -> tuple[str, str, str | None]:
        """What tells conditions of one experiment apart."""
        return self.task, self.arm, self.fork

    def run_name(self, seed: int) -> str:
        """Return TASK-ARM-SEED, the name of a run's directory."""
        return f"{self.name}-{seed}"

    def run_config(self, seed: int) -> RunConfig:
        """Return the config of a run."""
        return replace(self.config, seed=seed)


def _step(text: str) -> int:
    return parse_intervention(text)[0]


def _require_different(conditions: list[Condition]) -> None:
    """Raise UserError if two conditions would share a directory."""
    names: dict[str, Condition] = {}
    for condition in conditions:
        other = names.setdefault(condition.name, condition)
        if other is not condition:
            raise UserError(f"two runs would have the same name, {condition.name}: rename an arm")
