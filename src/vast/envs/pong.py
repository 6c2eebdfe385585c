"""Pong as in Fig. 7, and the same game as a vector of what its memory holds."""

from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from vast.envs.atari import Action, Atari

BALL_X, BALL_Y, PADDLE, ENEMY, SPEED_X, SPEED_Y = 49, 54, 51, 50, 58, 56
"""bytes of the game's memory; positions in pixels, speeds in pixels per frame"""


class Pong(Atari):
    """Pong with three actions (0 stay, 1 up, 2 down) that shows only the playing field (Fig. 7).

    Without sticky actions it is deterministic: every game begins in the same way. `info` says where
    ball and paddles are, for analysis; `ball_x` or `ball_y` is 0 while no ball is in play.
    """

    task_name: str | None = "pong"
    crop = (34, 16)
    full_contrast = True

    def __init__(self, sticky: float = 0.0, render_mode: str | None = None) -> None:
        super().__init__("pong", sticky, noop_max=0, render_mode=render_mode)

    def _game_actions(self) -> list[Action]:
        # The paddle is controlled by a knob: turning right moves it up, turning left down.
        return [Action.NOOP, Action.RIGHT, Action.LEFT]

    def _action_names(self) -> list[str]:
        return ["stay", "up", "down"]

    def _info(self) -> dict[str, Any]:
        memory = self._ale.getRAM()
        return {
            **super()._info(),
            "ball_x": int(memory[BALL_X]),
            "ball_y": int(memory[BALL_Y]),
            "speed_x": -_signed(memory[SPEED_X]),
            "speed_y": _signed(memory[SPEED_Y]),
            "paddle": int(memory[PADDLE]),
            "enemy": int(memory[ENEMY]),
        }


VALUES = ("ball_x", "ball_y", "speed_x", "speed_y", "paddle", "enemy", "offset", "moved")
"""the entries of the vector: as in `info`, then how far the ball is below the paddle, and how far
down the paddle has moved in the last step"""


class PongRAM(Pong):
    """Pong whose observations are the true positions and speeds: nothing has to be seen."""

    task_name = None  # the presets of Pong are for images

    def __init__(self, sticky: float = 0.0, render_mode: str | None = None) -> None:
        super().__init__(sticky, render_mode)
        self.observation_space = spaces.Box(-255, 255, (len(VALUES),), np.float32)
        self._paddle_before: int | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[Any], dict[str, Any]]:
        """Start a game."""
        self._paddle_before = None
        return super().reset(seed=seed, options=options)

    def step(self, action: np.int64) -> tuple[NDArray[Any], float, bool, bool, dict[str, Any]]:
        """Play four frames with one action."""
        self._paddle_before = int(self._ale.getRAM()[PADDLE])
        return super().step(action)

    def _look(self, frame: int) -> None:
        """Leave the screen alone."""

    def _observation(self) -> NDArray[Any]:
        found = self._info()
        found["offset"] = found["ball_y"] - found["paddle"]
        before = self._paddle_before
        found["moved"] = 0 if before is None else found["paddle"] - before
        return np.array([found[name] for name in VALUES], np.float32)


def _signed(byte: np.uint8) -> int:
    """Return a byte as a number from -128 to 127."""
    return int(byte.astype(np.int8))
