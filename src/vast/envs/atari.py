"""Atari games by the Arcade Learning Environment: Pong as in Fig. 7, any other as is usual.

One step is four frames with one action. The observation is grey, 84 x 84, and the brighter of
the last two frames at each pixel, because some games draw a sprite in every second frame only.
"""

from collections.abc import Mapping
from functools import cache
from math import gcd
from typing import Any

import ale_py
import gymnasium
import numpy as np
from ale_py import ALEInterface, ALEState, LoggerMode, roms
from gymnasium import spaces
from numpy.typing import NDArray

from vast.errors import UserError, unknown

Observation = NDArray[np.uint8]

SIZE = 84
"""of an observation, in pixels"""
FRAME_SKIP = 4
"""frames per step"""
MAX_FRAMES = 108_000
"""an episode is truncated after half an hour of play (60 frames per second), as is usual"""


class Shrink:
    """Scales the rows of an image to 84 by the mean over areas.

    Weights are whole numbers with the same sum for every output row, so that all sums are exact
    and an image comes out the same on every machine. An output row covers few input rows: adding
    these is quicker than a matrix product, and needs no threads.
    """

    def __init__(self, length: int) -> None:
        unit = gcd(length, SIZE)
        source, target = SIZE // unit, length // unit
        self.sum = target
        """what an output row must be divided by"""
        begin, end = np.arange(SIZE) * target, np.arange(1, SIZE + 1) * target
        first = begin // source
        self._taps = []
        for k in range(-(-target // source) + 1):
            row = first + k
            covered = np.minimum(end, (row + 1) * source) - np.maximum(begin, row * source)
            weight = np.maximum(covered, 0).astype(np.float32)
            self._taps.append((np.minimum(row, length - 1), weight[:, None]))

    def __call__(self, image: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the weighted sums of rows."""
        total = np.zeros((SIZE, image.shape[1]), np.float32)
        for rows, weight in self._taps:
            part = image.take(rows, axis=0)
            part *= weight
            total += part
        return total


@cache
def contrast_table(dark: int, bright: int) -> Observation:
    """Return the grey level that each level becomes when [dark, bright] fills [0, 255]."""
    levels = (np.arange(256) - dark) * 255 / max(bright - dark, 1)
    table: Observation = np.clip(levels + 0.5, 0, 255).astype(np.uint8)
    return table


class Atari(gymnasium.Env[Observation, np.int64]):
    """Any game the emulator knows by name, such as "breakout", with its minimal action set.

    `sticky` is the probability with which the emulator repeats the last action instead of the
    given one, at each frame (0.25 is usual where it is used); `noop_max` the largest number of
    idle frames an episode begins with.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 (declared so by gymnasium)
        "render_modes": ["rgb_array"],
        "render_fps": 60 / FRAME_SKIP,
    }
    crop: tuple[int, int] = (0, 0)
    """rows that are left out at the top and at the bottom"""
    full_contrast = False
    """whether the darkest pixel becomes 0 and the brightest 255"""

    def __init__(
        self,
        game: str,
        sticky: float = 0.0,
        noop_max: int = 30,
        render_mode: str | None = None,
    ) -> None:
        rom = roms.get_rom_path(game) if game in roms.get_all_rom_ids() else None
        if rom is None:
            raise unknown("game", game, roms.get_all_rom_ids())
        if not 0 <= sticky < 1:
            raise UserError(f"sticky {sticky}: allowed are probabilities from 0 to below 1")
        if noop_max < 0:
            raise UserError(f"noop_max {noop_max}: allowed are whole numbers from 0")
        if render_mode not in (None, "rgb_array"):
            raise unknown("render mode", render_mode, self.metadata["render_modes"])
        self.render_mode = render_mode
        ALEInterface.setLoggerMode(LoggerMode.Error)
        self._ale = ALEInterface()
        self._ale.setFloat("repeat_action_probability", sticky)
        self._ale.setInt("max_num_frames_per_episode", MAX_FRAMES)
        self._rom = rom
        self._ale.loadROM(self._rom)
        self._noop_max = noop_max
        self._actions = self._game_actions()
        self.observation_space = spaces.Box(0, 255, (SIZE, SIZE, 1), np.uint8)
        self.action_space = spaces.Discrete(len(self._actions))
        height, width = self._ale.getScreenDims()
        self._frames = np.zeros((2, height, width), np.uint8)
        self._shrink_rows, self._shrink_columns = Shrink(height - sum(self.crop)), Shrink(width)
        self._scale = np.float32(1 / (self._shrink_rows.sum * self._shrink_columns.sum))

    def _game_actions(self) -> list[ale_py.Action]:
        return list(self._ale.getMinimalActionSet())

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start a game; a seed also seeds the emulator."""
        super().reset(seed=seed)
        if seed is not None:
            self._ale.setInt("random_seed", int(self.np_random.integers(2**31)))
            self._ale.loadROM(self._rom)
        self._ale.reset_game()
        if self._noop_max:
            for _ in range(int(self.np_random.integers(1, self._noop_max + 1))):
                self._ale.act(ale_py.Action.NOOP)
                if self._ale.game_over():
                    self._ale.reset_game()
        self._ale.getScreenGrayscale(self._frames[0])
        self._frames[1] = self._frames[0]
        return self._observation(), self._info()

    def step(self, action: np.int64) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Play four frames with one action."""
        if not self.action_space.contains(action):
            names = ", ".join(f"{i} {a.name.lower()}" for i, a in enumerate(self._actions))
            raise UserError(f"action {action!r}: allowed are {names}")
        reward = 0.0
        for frame in range(FRAME_SKIP):
            reward += self._ale.act(self._actions[action])
            over = self._ale.game_over()
            if frame >= FRAME_SKIP - 2 or over:
                self._ale.getScreenGrayscale(self._frames[frame % 2])
            if over:
                break
        truncated = self._ale.game_truncated()
        terminated = self._ale.game_over() and not truncated
        return self._observation(), reward, terminated, truncated, self._info()

    def render(self) -> NDArray[np.uint8] | None:
        """Return the screen in colour at twice its size."""
        if self.render_mode is None:
            return None
        return np.asarray(self._ale.getScreenRGB()).repeat(2, axis=0).repeat(2, axis=1)

    def state_dict(self) -> dict[str, Any]:
        """Return all that the future depends on."""
        return {
            "emulator": self._ale.cloneState(include_rng=True).serialize(),
            "frames": self._frames.copy(),
            "np_random": self.np_random.bit_generator.state,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on where the state was taken."""
        self._ale.restoreState(ALEState(state["emulator"]))
        self._frames[:] = state["frames"]
        self.np_random.bit_generator.state = state["np_random"]

    def _observation(self) -> Observation:
        top, bottom = self.crop
        first, second = self._frames[:, top : self._frames.shape[1] - bottom]
        screen = np.maximum(first, second).astype(np.float32)
        sums = self._shrink_columns(np.ascontiguousarray(self._shrink_rows(screen).T))
        sums *= self._scale
        sums += np.float32(0.5)
        image = np.ascontiguousarray(sums.astype(np.uint8).T)
        if self.full_contrast:
            image = contrast_table(int(image.min()), int(image.max())).take(image)
        return image[:, :, None]

    def _info(self) -> dict[str, Any]:
        return {"lives": self._ale.lives(), "frame": self._ale.getEpisodeFrameNumber()}


class Pong(Atari):
    """Pong with three actions, 0 stay, 1 up, 2 down, and the playing field only (Fig. 7).

    Without sticky actions there is no chance in it: every game begins alike.
    """

    crop = (34, 16)
    full_contrast = True

    def __init__(self, sticky: float = 0.0, render_mode: str | None = None) -> None:
        super().__init__("pong", sticky, noop_max=0, render_mode=render_mode)

    def _game_actions(self) -> list[ale_py.Action]:
        # The paddle is a knob: turned right it goes up, turned left it goes down.
        return [ale_py.Action.NOOP, ale_py.Action.RIGHT, ale_py.Action.LEFT]
