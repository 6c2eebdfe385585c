"""An environment that only the program that made it can make again."""

from dataclasses import dataclass
from typing import Any, NoReturn

import gymnasium
import numpy as np
from gymnasium import spaces

from vast.checks import between
from vast.errors import UserError
from vast.replay.episodes import MAX_ACTIONS

DTYPES = ("uint8", "float16", "float32", "float64", np.dtype(np.longdouble).name)
"""of the observations from which an agent can learn"""


@dataclass(frozen=True)
class OwnEnv:
    """Why the shell cannot make an environment, and what an agent must know of it."""

    reason: str
    shape: tuple[int, ...]
    dtype: str
    n_actions: int

    def __post_init__(self) -> None:
        between(1, MAX_ACTIONS, n_actions=self.n_actions)
        if len(self.shape) not in (1, 3) or min(self.shape) < 1:
            raise UserError(f"shape must be 1 or 3 sizes of at least 1, got {self.shape}")
        if self.dtype not in DTYPES:
            raise UserError(f"dtype must be one of {', '.join(DTYPES)}, got {self.dtype!r}")


class AbsentEnv(gymnasium.Env[Any, Any]):
    """Stands for such an environment where a saved agent is looked at; nobody can act in it."""

    render_mode = "rgb_array"  # whoever wants to film it is told why not

    def __init__(self, own: OwnEnv) -> None:
        self._own = own
        dtype = np.dtype(own.dtype)
        low, high = (0, 255) if dtype == np.uint8 else (-np.inf, np.inf)
        self.observation_space = spaces.Box(low, high, own.shape, dtype.type)
        self.action_space = spaces.Discrete(own.n_actions)

    def reset(self, **_: Any) -> NoReturn:
        """Say why there is no episode."""
        raise UserError(f"the environment of this run cannot be made here: {self._own.reason}")

    def step(self, action: Any) -> NoReturn:
        """Say why there is no step."""
        self.reset()
