"""The continuous T-maze of Fig. 1A: observations are (x, y), and no position is visited twice."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from vast.envs.doom.rules import Area
from vast.envs.doom.world import FloorPlan
from vast.errors import UserError, unknown

Observation = NDArray[np.float32]

BAR_LENGTH = 5.5
"""half the length of the T's bar, which spans x in [-5.5, 5.5], y in [-1.5, 1.5]"""
HALF_WIDTH = 1.5
"""half the width of every corridor"""
STEM_END = -9.5
"""the stem spans x in [-1.5, 1.5] and goes down from the bar to this y"""
GOAL_Y = -8.5
"""an episode ends with a reward of 1 below this line"""
OUTLINE = (
    (-BAR_LENGTH, HALF_WIDTH),
    (BAR_LENGTH, HALF_WIDTH),
    (BAR_LENGTH, -HALF_WIDTH),
    (HALF_WIDTH, -HALF_WIDTH),
    (HALF_WIDTH, STEM_END),
    (-HALF_WIDTH, STEM_END),
    (-HALF_WIDTH, -HALF_WIDTH),
    (-BAR_LENGTH, -HALF_WIDTH),
)
"""its corners, clockwise from the upper left"""
STEP = 0.8
"""the length of a step"""

DIRECTIONS = np.array([[1, 0], [0, 1], [-1, 0], [0, -1]], dtype=np.float64)
"""action -> unit vector: 0 east, 1 north, 2 west, 3 south"""


def inside(x: float, y: float) -> bool:
    """Tell whether (x, y) is in the maze, its boundary included."""
    in_bar = abs(x) <= BAR_LENGTH and abs(y) <= HALF_WIDTH
    in_stem = abs(x) <= HALF_WIDTH and STEM_END <= y <= HALF_WIDTH
    return in_bar or in_stem


def corridor(position: NDArray[np.float64], axis: int) -> tuple[float, float]:
    """Return the coordinates of the two walls along `axis` (0 is x, 1 is y) from `position`."""
    x, y = position
    if axis == 0:
        reach = BAR_LENGTH if abs(y) <= HALF_WIDTH else HALF_WIDTH
        return -reach, reach
    return (STEM_END if abs(x) <= HALF_WIDTH else -HALF_WIDTH), HALF_WIDTH


class TMaze2D(gymnasium.Env[Observation, np.int64]):
    """Steps of fixed length in four directions; a step that hits a wall rebounds from it.

    An episode starts at a uniformly random position outside the goal zone, or at
    `reset(options={"start": (x, y)})`. The goal zone at the bottom of the stem ends it with a
    reward of 1.
    """

    task_name: ClassVar[str] = "t-maze-2d"
    action_names: ClassVar[tuple[str, ...]] = ("east", "north", "west", "south")
    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 (declared so by gymnasium)

    def __init__(self) -> None:
        low = np.array([-BAR_LENGTH, STEM_END], np.float32)
        high = np.array([BAR_LENGTH, HALF_WIDTH], np.float32)
        self.observation_space = spaces.Box(low, high, dtype=np.float32)
        self.action_space = spaces.Discrete(4)
        self._position = np.zeros(2)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start an episode, at a given position with `options={"start": (x, y)}`."""
        super().reset(seed=seed)
        for name in options or {}:
            if name != "start":
                raise unknown("reset option", name, ("start",))
        start = (options or {}).get("start")
        self._position = self._random_start() if start is None else self._given_start(start)
        return self._observation(), self._info(None)

    def step(self, action: np.int64) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Move one step east, north, west or south (0 to 3)."""
        if not self.action_space.contains(action):
            raise UserError(f"action must be 0 east, 1 north, 2 west or 3 south, got {action!r}")
        axis = int(action) % 2
        low, high = corridor(self._position, axis)
        target = self._position[axis] + STEP * DIRECTIONS[action, axis]
        # The part of a step beyond a wall is reflected.
        self._position[axis] = min(max(target, 2 * low - target), 2 * high - target)
        goal = bool(self._position[1] < GOAL_Y)
        reward = 1.0 if goal else 0.0
        return self._observation(), reward, goal, False, self._info("goal" if goal else None)

    def floor_plan(self) -> FloorPlan:
        """Return the walls and the goal zone, for drawing."""
        walls = [(*a, *b) for a, b in pairwise((*OUTLINE, OUTLINE[0]))]
        goal = Area("goal", -HALF_WIDTH, STEM_END, HALF_WIDTH, GOAL_Y)
        return FloorPlan(walls, [], [goal])

    def state_dict(self) -> dict[str, Any]:
        """Return the complete state of the environment."""
        return {
            "position": self._position.copy(),
            "np_random": self.np_random.bit_generator.state,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a state."""
        self._position = np.array(state["position"], dtype=np.float64)
        self.np_random.bit_generator.state = state["np_random"]

    def _random_start(self) -> NDArray[np.float64]:
        while True:
            x, y = self.np_random.uniform((-BAR_LENGTH, GOAL_Y), (BAR_LENGTH, HALF_WIDTH))
            if inside(x, y):
                return np.array([x, y])

    def _given_start(self, start: Any) -> NDArray[np.float64]:
        position = np.asarray(start, dtype=np.float64)
        if position.shape != (2,) or not inside(*position) or position[1] < GOAL_Y:
            raise UserError(
                f"start must be (x, y) in the maze above the goal line y = {GOAL_Y}, got {start!r}"
            )
        return position.copy()

    def _observation(self) -> Observation:
        return self._position.astype(np.float32)

    def _info(self, event: str | None) -> dict[str, Any]:
        return {"x": float(self._position[0]), "y": float(self._position[1]), "event": event}
