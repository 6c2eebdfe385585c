"""Atari games in the Arcade Learning Environment, with usual settings; pong.py has Pong.

One step is four frames with one action. The observation is greyscale, 84 x 84, the maximum of the
last two frames at each pixel, because some games draw a sprite only in every second frame.
"""

from collections.abc import Mapping
from functools import cache
from math import gcd
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from vast.envs.compiled import compiled
from vast.errors import UserError, unknown
from vast.extras import importing

with importing("atari", "an Atari environment"):
    from ale_py import Action as Action  # also for pong.py
    from ale_py import ALEInterface, ALEState, LoggerMode, roms

Observation = NDArray[np.uint8]

SIZE = 84
"""height and width of an observation, in pixels"""
FRAME_SKIP = 4
"""frames per step"""
MAX_FRAMES = 108_000
"""an episode is truncated after half an hour of play (60 frames per second), the usual limit"""


def area_weights(length: int) -> NDArray[np.int64]:
    """Return for each of 84 output pixels the first input pixel that it covers, and the weights.

    A row is (first, weight, weight, ...): the overlap of the output pixel with the first input
    pixel and those after it. Weights are integers with the same sum in all rows, so that all sums
    are exact and an image is the same on every machine.
    """
    unit = gcd(length, SIZE)
    source, target = SIZE // unit, length // unit
    begin, end = np.arange(SIZE) * target, np.arange(1, SIZE + 1) * target
    first = begin // source
    rows = [first]
    for pixel in (first + k for k in range((target - 2) // source + 2)):
        covered = np.minimum(end, (pixel + 1) * source) - np.maximum(begin, pixel * source)
        rows.append(np.maximum(covered, 0))
    return np.stack(rows, axis=1)


@compiled
def shrink(
    first: Observation, second: Observation, rows: NDArray[np.int64], columns: NDArray[np.int64]
) -> Observation:
    """Return the maximum of two frames at each pixel, scaled to 84 x 84 by area averaging."""
    height, width = first.shape
    small = np.empty((SIZE, SIZE), np.uint8)
    # The last output pixels refer to input pixels beyond the edge, with weight 0.
    sums = np.zeros(width + columns.shape[1], np.int32)
    total = rows[0, 1:].sum() * columns[0, 1:].sum()
    # A product is faster than a division; the small summand makes it equally exact.
    scale, half = 1.0 / total, 0.5 + 1e-9
    for y in range(SIZE):
        sums[:] = 0
        for k in range(rows.shape[1] - 1):
            weight, row = np.int32(rows[y, k + 1]), min(rows[y, 0] + k, height - 1)
            one, other = first[row], second[row]
            # Unsigned, so that Numba does not check for negative indices, and LLVM vectorizes.
            for x in range(np.uint64(width)):
                sums[x] += weight * np.int32(max(one[x], other[x]))
        for x in range(np.uint64(SIZE)):
            value = np.int64(0)
            start = np.uint64(columns[x, 0])
            for k in range(np.uint64(columns.shape[1] - 1)):
                value += columns[x, k + np.uint64(1)] * sums[start + k]
            small[y, x] = np.uint8(value * scale + half)
    return small


@cache
def contrast_table(dark: int, bright: int) -> Observation:
    """Return the new value of each grey level when [dark, bright] is stretched to [0, 255]."""
    levels = (np.arange(256) - dark) * 255 / max(bright - dark, 1)
    table: Observation = np.clip(levels + 0.5, 0, 255).astype(np.uint8)
    return table


class Atari(gymnasium.Env[NDArray[Any], np.int64]):
    """Any game of the emulator by name, such as "breakout", with its minimal action set.

    `sticky` is the probability, at each frame, that the emulator repeats the previous action
    instead of the given one (usually 0 or 0.25). An episode begins with 1 to `noop_max` frames
    without an action.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 (declared so by gymnasium)
        "render_modes": ["rgb_array"],
        "render_fps": 60 / FRAME_SKIP,
    }
    crop: tuple[int, int] = (0, 0)
    """rows cut off at the top and at the bottom"""
    full_contrast = False
    """whether to stretch the contrast, so that the darkest pixel is 0 and the brightest 255"""

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
            raise UserError(f"sticky must be a probability below 1, got {sticky}")
        if noop_max < 0:
            raise UserError(f"noop_max must be 0 or more, got {noop_max}")
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
        self._score = 0.0
        self._rows, self._columns = area_weights(height - sum(self.crop)), area_weights(width)

    def _game_actions(self) -> list[Action]:
        return list(self._ale.getMinimalActionSet())

    def _action_names(self) -> list[str]:
        return [action.name.lower() for action in self._actions]

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[Any], dict[str, Any]]:
        """Start a game; a seed also seeds the emulator."""
        super().reset(seed=seed)
        if options:
            raise UserError(f"reset options must be empty for a game, got {next(iter(options))!r}")
        if seed is not None:
            self._ale.setInt("random_seed", int(self.np_random.integers(2**31)))
            self._ale.loadROM(self._rom)
        self._ale.reset_game()
        self._score = 0.0
        if self._noop_max:
            for _ in range(int(self.np_random.integers(1, self._noop_max + 1))):
                self._ale.act(Action.NOOP)
                if self._ale.game_over():
                    self._ale.reset_game()
        self._look(0)
        self._frames[1] = self._frames[0]
        return self._observation(), self._info()

    def step(self, action: np.int64) -> tuple[NDArray[Any], float, bool, bool, dict[str, Any]]:
        """Play four frames with one action."""
        if action not in range(len(self._actions)):
            names = ", ".join(f"{i} {name}" for i, name in enumerate(self._action_names()))
            raise UserError(f"action must be one of {names}, got {action!r}")
        reward = 0.0
        for frame in range(FRAME_SKIP):
            reward += self._ale.act(self._actions[action])
            over = self._ale.game_over()
            if frame >= FRAME_SKIP - 2 or over:
                self._look(frame % 2)
            if over:
                break
        self._score += reward
        truncated = self._ale.game_truncated()
        terminated = self._ale.game_over() and not truncated
        return self._observation(), reward, terminated, truncated, self._info()

    def render(self) -> NDArray[np.uint8] | None:
        """Return the screen in colour, at twice its size."""
        if self.render_mode is None:
            return None
        return np.asarray(self._ale.getScreenRGB()).repeat(2, axis=0).repeat(2, axis=1)

    def state_dict(self) -> dict[str, Any]:
        """Return the complete state of the environment."""
        return {
            "emulator": self._ale.cloneState(include_rng=True).serialize(),
            "frames": self._frames.copy(),
            "score": self._score,
            "np_random": self.np_random.bit_generator.state,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a state."""
        self._ale.restoreState(ALEState(state["emulator"]))
        self._frames[:] = state["frames"]
        self._score = float(state["score"])
        self.np_random.bit_generator.state = state["np_random"]

    def _look(self, frame: int) -> None:
        """Take the screen as one of the two frames."""
        self._ale.getScreenGrayscale(self._frames[frame])

    def _observation(self) -> NDArray[Any]:
        top, bottom = self.crop
        first, second = self._frames[:, top : self._frames.shape[1] - bottom]
        image = shrink(first, second, self._rows, self._columns)
        if self.full_contrast:
            image = contrast_table(int(image.min()), int(image.max())).take(image)
        return image[:, :, None]

    def _info(self) -> dict[str, Any]:
        return {
            "lives": self._ale.lives(),
            "frame": self._ale.getEpisodeFrameNumber(),
            "score": self._score,
            "game_over": self._ale.game_over(),
        }
