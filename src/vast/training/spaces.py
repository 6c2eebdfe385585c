"""What an agent must know of an environment before it acts there."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import nan
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from vast.errors import UserError
from vast.replay.episodes import MAX_ACTIONS
from vast.training.protocol import Env, Pose
from vast.training.wrapper_hints import (
    action_wrapper,
    channels_last_wrapper,
    hint,
    observation_wrapper,
    one_line,
)

CHANNELS = (1, 3, 4)
"""of an image, as a rule"""


@dataclass(frozen=True)
class Spaces:
    """The shape and type of observations, and the number of actions."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    n_actions: int


def spaces_of(env: Env) -> Spaces:
    """Return the spaces of an environment; UserError if no agent can act in it.

    Where a wrapper would help, the error names it.
    """
    if isinstance(env, gymnasium.vector.VectorEnv):
        raise UserError(
            "an agent learns in one environment, got several in a vector environment: make "
            "it with gymnasium.make, not make_vec"
        )
    if not isinstance(env, gymnasium.Env):
        raise UserError(f"env must be a Gymnasium environment or its id, got {env!r}")
    seen, done = env.observation_space, env.action_space
    if not isinstance(done, spaces.Discrete) or done.start != 0 or done.n > MAX_ACTIONS:
        raise UserError(
            f"the action space must be Discrete(n), n at most {MAX_ACTIONS}, starting at 0, "
            f"got {one_line(done)}{hint(action_wrapper(done))}"
        )
    if not isinstance(seen, spaces.Box):
        raise UserError(
            "the observation space must be a Box of bytes or floats, "
            f"got {one_line(seen)}{hint(observation_wrapper(seen))}"
        )
    image = len(seen.shape) == 3 and seen.dtype == np.uint8
    vector = len(seen.shape) == 1 and np.issubdtype(seen.dtype, np.floating)
    if not (image or vector):
        raise UserError(
            "observations must be uint8 images (rows, columns, channels) or float vectors (n,), "
            f"got shape {seen.shape} and type {seen.dtype}{hint(observation_wrapper(seen))}"
        )
    if image and _is_channel_first(*seen.shape):
        raise UserError(
            f"images must be (rows, columns, channels), got shape {seen.shape}"
            f"{hint(channels_last_wrapper(seen))}"
        )
    return Spaces(tuple(seen.shape), np.dtype(seen.dtype), int(done.n))


def is_lost(info: Mapping[str, Any]) -> bool:
    """Tell whether the environment's `info` says that the step did not happen."""
    return bool(info.get("lost_step", False))


def pose_of(info: Mapping[str, Any]) -> Pose | None:
    """Return where the environment's `info` says the agent is; None if it does not say."""
    try:
        return float(info["x"]), float(info["y"]), float(info.get("angle", nan))
    except (KeyError, TypeError, ValueError):  # somebody's own x and y, which mean something else
        return None


def is_in_game(info: Mapping[str, Any]) -> bool:
    """Tell whether the environment's `info` says that a game is in progress."""
    return "game_over" in info and not info["game_over"]


def final_score(info: Mapping[str, Any]) -> float | None:
    """Return the score of the game that ended with a step, by the environment's `info`, or None."""
    return float(info["score"]) if info.get("game_over") else None


def counted_events(env: Env) -> tuple[str, ...]:
    """Return the events of which an environment wants counted in how many episodes they happen."""
    found: tuple[str, ...] = tuple(getattr(env.unwrapped, "counted_events", ()))
    return found


def _is_channel_first(first: int, second: int, third: int) -> bool:
    """Tell whether these look like channels, rows and columns, as of stacked frames."""
    return third not in CHANNELS and (first in CHANNELS or 2 * first <= min(second, third))
