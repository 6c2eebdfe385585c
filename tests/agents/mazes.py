"""Small environments, and the plain loop that lets an agent act in them."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from vast.training.protocol import Trainable

GRID = (
    "....#",
    ".##.#",
    ".#...",
    "...#.",
    "##.#G",
)
"""eight steps from the upper left to the goal"""


class GridMaze(gymnasium.Env[NDArray[Any], np.int64]):
    """A deterministic maze of cells: reward 1 at the goal, which ends the episode; walls hold.

    Episodes start in a random cell. Observations are the (row, column), or an image with the
    agent's cell bright.
    """

    def __init__(self, image: bool = False, limit: int = 50) -> None:
        self.image, self.limit = image, limit
        self.cells = np.array([list(row) for row in GRID])
        n = len(GRID)
        self.observation_space = (
            spaces.Box(0, 255, (n, n, 1), np.uint8)
            if image
            else spaces.Box(0, float(n), (2,), np.float32)
        )
        self.action_space = spaces.Discrete(4)
        self.at: tuple[int, int] = (0, 0)
        self.time = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[Any], dict[str, Any]]:
        super().reset(seed=seed)
        free = np.argwhere(self.cells == ".").tolist()
        self.at = (options or {}).get("start") or tuple(free[self.np_random.integers(len(free))])
        self.time = 0
        return self._seen(), {}

    def step(self, action: np.int64) -> tuple[NDArray[Any], float, bool, bool, dict[str, Any]]:
        down, right = ((0, 1), (1, 0), (0, -1), (-1, 0))[action]
        row, column = self.at[0] + down, self.at[1] + right
        n = len(GRID)
        if 0 <= row < n and 0 <= column < n and self.cells[row, column] != "#":
            self.at = (row, column)
        self.time += 1
        goal = bool(self.cells[self.at] == "G")
        return self._seen(), float(goal), goal, self.time >= self.limit, {}

    def _seen(self) -> NDArray[Any]:
        if not self.image:
            return np.array(self.at, np.float32)
        image = np.where(self.cells == "#", 80, 0).astype(np.uint8)
        image[self.at] = 255
        return image[..., None]


def live(agent: Trainable, env: gymnasium.Env[Any, Any], steps: int, begin: bool = True) -> None:
    """Let an agent live so many steps; without `begin`, go on in the episode that it is in."""
    if begin:
        agent.begin(env.reset(seed=0)[0])
    for _ in range(steps):
        action = agent.decide()
        seen, reward, terminated, truncated, _ = env.step(action)
        agent.observe(action, float(reward), seen, terminated, truncated)
        while agent.train():
            pass
        if terminated or truncated:
            agent.begin(env.reset()[0])


def distances() -> dict[tuple[int, int], int]:
    """Return how many steps it takes from each cell to the goal."""
    (goal,) = ((r, c) for r, row in enumerate(GRID) for c, cell in enumerate(row) if cell == "G")
    found, ring = {goal: 0}, [goal]
    while ring:
        row, column = ring.pop(0)
        for cell in ((row, column + 1), (row + 1, column), (row, column - 1), (row - 1, column)):
            inside = all(0 <= i < len(GRID) for i in cell)
            if inside and cell not in found and GRID[cell[0]][cell[1]] != "#":
                found[cell] = found[row, column] + 1
                ring.append(cell)
    return found


def share_of_shortest_paths(agent: Trainable, env: GridMaze) -> float:
    """Return from how many of all cells the agent's policy takes the shortest way to the goal."""
    cells = {cell: far for cell, far in distances().items() if far}
    lengths = [episode(agent, env, options={"start": cell})[1] for cell in cells]
    return float(np.mean(np.array(lengths) == list(cells.values())))


def episode(
    agent: Trainable,
    env: gymnasium.Env[Any, Any],
    epsilon: float = 0.0,
    options: dict[str, Any] | None = None,
) -> tuple[float, int]:
    """Return the sum of rewards and the length of one episode of the agent's policy."""
    policy = agent.policy(epsilon, np.random.default_rng(1))
    seen, _ = env.reset(options=options)
    policy.begin(seen)
    total, length = 0.0, 0
    while True:
        seen, reward, terminated, truncated, _ = env.step(policy.act())
        total, length = total + float(reward), length + 1
        if terminated or truncated:
            return total, length
        policy.observe(seen)
