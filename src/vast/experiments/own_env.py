"""An environment that only the program that made it can make again."""

from dataclasses import dataclass
from typing import Any, NoReturn

import gymnasium
import numpy as np
from gymnasium import spaces

from vast.errors import UserError


@dataclass(frozen=True)
class OwnEnv:
    """Why the shell cannot make an environment, and what an agent must know of it."""

    reason: str
    shape: tuple[int, ...]
    dtype: str
    n_actions: int


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
