"""Interventions: changes of the environment, or forced runs, in the middle of an experiment.

Each is a small frozen object, so that an experiment can list them by step. A new episode begins
after each of them.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from vast.errors import UserError, unknown
from vast.training.protocol import Env, Experience, Intervention
from vast.training.spaces import is_lost, pose_of

Observe = Callable[[Experience], None]

LETTERS = "FLR"
"""forward, left, right: the actions 0, 1, 2 as forced runs are written"""


@dataclass(frozen=True)
class ReverseRewards:
    """Goals punish and penalties reward from now on (Fig. 6)."""

    def check(self, env: Env) -> None:
        """Raise UserError if the environment has no such setting."""
        if "reversed" not in getattr(env.unwrapped, "mutable_settings", ()):
            raise UserError(f"{env.unwrapped} has no rewards that can be reversed")

    def apply(self, env: Env, observe: Observe) -> None:
        """Reverse the rewards; the agent has to find out."""
        self.check(env)
        world: Any = env.unwrapped
        world.reversed = not world.reversed


@dataclass(frozen=True)
class SwitchMap:
    """The next episodes are in another map, such as one with a teleporter (Fig. 5)."""

    map_name: str

    def check(self, env: Env) -> None:
        """Raise UserError if there is no such map."""
        _check_map(env, self.map_name)

    def apply(self, env: Env, observe: Observe) -> None:
        """Switch the map; the agent has to find out."""
        _maps(env).set_map(self.map_name)


@dataclass(frozen=True)
class ForcedRun:
    """One episode under fixed actions from a fixed pose, which the agent watches (Fig. 1C, 5)."""

    map_name: str
    """where it takes place; the environment's map is restored afterwards"""
    start: tuple[float, float, float]
    """x, y and heading in degrees"""
    actions: str
    """F forward, L left, R right"""

    def check(self, env: Env) -> None:
        """Raise UserError if there is no such map."""
        _check_map(env, self.map_name)

    def apply(self, env: Env, observe: Observe) -> None:
        """Play the run and let the agent observe every step."""
        for step in self.play(env):
            observe(step)

    def play(self, env: Env) -> Iterator[Experience]:
        """Yield the steps of the run; its episode must not end before the last action."""
        world = _maps(env)
        before = world.map_name
        world.set_map(self.map_name)
        try:
            observation, info = env.reset(options={"start": self.start})
            pose = pose_of(info)
            for number, letter in enumerate(self.actions, start=1):
                action = LETTERS.index(letter)
                seen, reward, terminated, truncated, info = env.step(np.int64(action))
                if is_lost(info):
                    raise UserError(f"action {number} of the forced run was lost: run it again")
                yield Experience(
                    observation,
                    action,
                    float(reward),
                    seen,
                    terminated,
                    truncated,
                    pose,
                    pose_of(info),
                )
                observation, pose = seen, pose_of(info)
                if (terminated or truncated) and number < len(self.actions):
                    raise UserError(
                        f"the forced run must last {len(self.actions)} actions, but its episode "
                        f"ended after {number}"
                    )
        finally:
            world.set_map(before)


FORCED_RUNS = {
    "t-maze": ForcedRun("TOPEN", (288, 0, 180), "FFFFFLLLLFFFFFLFFFFF"),
    "h-maze-rewarded": ForcedRun(
        "HON", (-1312, 512, 270), "LLLLFFFFFFLFLRRRRFFFFFFFFFFLFFFFFFFFLRRRRFFFFFF"
    ),
    "h-maze-penalised": ForcedRun(
        "HON",
        (-1312, 512, 270),
        "LLLLFFFFFFLFLRRRRFFFFFFFFFFLFFFFFFFFLLLLFFFFFFFFFFLFFFFFFFFFFFFF",
    ),
}
"""the runs of the paper's figures: out of the shut arm into the stem without reaching the reward
(Fig. 1C); through the teleporter to the reward, or to the penalty (Fig. 5)"""


def forced_run(name: str) -> ForcedRun:
    """Return a forced run by name; UserError if there is none."""
    if name not in FORCED_RUNS:
        raise unknown("forced run", name, FORCED_RUNS)
    return FORCED_RUNS[name]


INTERVENTIONS: dict[str, Callable[[str], Intervention]] = {
    "reverse": lambda _: ReverseRewards(),
    "map=NAME": SwitchMap,
    "run=NAME": forced_run,
}
"""how each is written, and what makes it of its name"""


def parse_intervention(text: str) -> tuple[int, Intervention]:
    """Return an intervention and its step from STEP:WHAT; UserError if it is not of that form."""
    found = re.fullmatch(r"(\d+):(\w+)(?:=([\w-]+))?", text)
    if found is not None:
        step, what, name = found.groups()
        make = INTERVENTIONS.get(what if name is None else f"{what}=NAME")
        if make is not None:
            return int(step), make(name or "")
    forms = ", ".join(f"STEP:{form}" for form in INTERVENTIONS)
    raise UserError(f"an intervention must be one of {forms}, got {text!r}")


class HasMaps(Protocol):
    """An environment with several maps."""

    @property
    def map_name(self) -> str:
        """The map of the next episode."""
        ...

    def set_map(self, map_name: str) -> None:
        """Choose the map of the next episode."""
        ...


def _maps(env: Env) -> HasMaps:
    world: Any = env.unwrapped
    if not hasattr(world, "set_map"):
        raise UserError(f"{world} has no maps to switch between")
    has_maps: HasMaps = world
    return has_maps


def _check_map(env: Env, map_name: str) -> None:
    world = _maps(env)
    before = world.map_name
    try:
        world.set_map(map_name)
    finally:
        world.set_map(before)
