"""What is done to a world, or shown to an agent, in the middle of an experiment.

Each intervention is a small frozen object with one method, so that an experiment can list them
by step. After one that changes the world the experiment begins a new episode.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from vast.errors import UserError
from vast.training.protocol import Env, Observe, Transition

LETTERS = "FLR"
"""forward, left, right: the actions 0, 1, 2 as forced runs are written"""


@dataclass(frozen=True)
class ReverseRewards:
    """Let goals punish and penalties reward from now on (Fig. 6)."""

    def check(self, env: Env) -> None:
        """Raise UserError if that is not possible there."""
        if not hasattr(env.unwrapped, "reversed"):
            raise UserError(f"{env.unwrapped} has no rewards that can be reversed")

    def apply(self, env: Env, observe: Observe) -> None:
        """Reverse the rewards; the agent is told nothing."""
        self.check(env)
        world: Any = env.unwrapped
        world.reversed = not world.reversed


@dataclass(frozen=True)
class SwitchMap:
    """Play in another map from the next episode on, such as one with a teleporter (Fig. 5)."""

    map_name: str

    def check(self, env: Env) -> None:
        """Raise UserError if there is no such map."""
        _check_map(env, self.map_name)

    def apply(self, env: Env, observe: Observe) -> None:
        """Switch the map; the agent is told nothing."""
        _maps(env).set_map(self.map_name)


@dataclass(frozen=True)
class ForcedRun:
    """One episode under fixed actions from a fixed pose, which the agent watches (Fig. 1C, 5)."""

    map_name: str
    """where it takes place; the environment's own map is restored afterwards"""
    start: tuple[float, float, float]
    """x, y and heading in degrees"""
    actions: str
    """F forward, L left, R right"""

    def check(self, env: Env) -> None:
        """Raise UserError if there is no such map."""
        _check_map(env, self.map_name)

    def apply(self, env: Env, observe: Observe) -> None:
        """Play the run and hand every transition to the agent."""
        for transition in self.play(env):
            observe(transition)

    def play(self, env: Env) -> Iterator[Transition]:
        """Return the run's transitions; it must end with its last action, or not at all."""
        world = _maps(env)
        before = world.map_name
        world.set_map(self.map_name)
        try:
            observation, _ = env.reset(options={"start": self.start})
            for number, letter in enumerate(self.actions, start=1):
                action = LETTERS.index(letter)
                seen, reward, terminated, truncated, info = env.step(np.int64(action))
                yield Transition(
                    observation, action, float(reward), seen, terminated, truncated, info
                )
                observation = seen
                if (terminated or truncated) and number < len(self.actions):
                    raise UserError(
                        f"the forced run ended after {number} of {len(self.actions)} actions"
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
