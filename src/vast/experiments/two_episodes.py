"""Fig. 1A, B: two episodes in the continuous T-maze, and what can be learned from them.

The first episode wanders from the right arm through the centre into the left arm and ends without
reward. The second one starts in the left arm and reaches the goal at the bottom of the stem. No
position is visited twice; but with rounded coordinates both pass through some of the same states,
and there planning carries the reward over to the first episode.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from vast.agents.config import TableConfig
from vast.agents.table import TableAgent
from vast.envs.tmaze2d import DIRECTIONS
from vast.planning import TransitionTable
from vast.training.spaces import Spaces

Points = NDArray[np.float64]

RIGHT_TO_LEFT = ((4.87, 0.31), [(0.0, 0.0), (-3.0, -0.4)])
LEFT_TO_GOAL = ((-4.63, 0.57), [(0.0, -0.4), (0.2, -5.0), (0.0, -9.4)])
"""where an episode starts, and the places it then heads for"""

WANDER = 0.4
"""share of random steps on the way"""


@dataclass(frozen=True)
class Trajectory:
    """One episode."""

    observations: Points
    """[T + 1, 2] the first place and those after each step"""
    actions: NDArray[np.int64]
    rewards: NDArray[np.float64]
    terminated: bool
    """whether it ended in the goal zone"""


@dataclass(frozen=True)
class TwoEpisodes:
    """The figure's data."""

    episodes: tuple[Trajectory, Trajectory]
    episodic_values: tuple[Points, Points]
    """the return that followed each observation, which is all that episodic control uses"""
    cells: Points
    """[n, 2] the rounded coordinates that were visited"""
    cell_values: NDArray[np.float64]
    """the value of each cell by prioritized sweeping"""
    shared: NDArray[np.bool_]
    """whether both episodes passed through the cell"""


def run(seed: int = 23, discount: float = 0.95) -> TwoEpisodes:
    """Play both episodes and learn from them in both ways."""
    rng = np.random.default_rng(seed)
    first = wander(*RIGHT_TO_LEFT, rng)
    second = wander(*LEFT_TO_GOAL, rng)
    table = tabulate((first, second), discount)
    table.sweep()
    visited = [set(map(tuple, rounded(episode.observations))) for episode in (first, second)]
    goal = tuple(rounded(second.observations[-1:])[0])
    cells = np.array(sorted((visited[0] | visited[1]) - {goal}))
    return TwoEpisodes(
        episodes=(first, second),
        episodic_values=(returns(first, discount), returns(second, discount)),
        cells=cells,
        cell_values=np.array([table.value(key) for key in keys(cells).tolist()]),
        shared=np.array([tuple(cell) in visited[0] & visited[1] for cell in cells]),
    )


def wander(
    start: tuple[float, float], places: Sequence[tuple[float, float]], rng: np.random.Generator
) -> Trajectory:
    """Go from place to place with many random steps, up to the last place or the goal."""
    env = gymnasium.make("vast/TMaze2D-v0").unwrapped
    observation, _ = env.reset(options={"start": start})
    observations, actions, rewards = [observation], [], []
    terminated = False
    for place in map(np.array, places):
        while not terminated and np.abs(place - observation).max() > 0.6:
            towards = np.maximum(DIRECTIONS @ (place - observation), 0)
            straight = (1 - WANDER) * towards / towards.sum()
            action = rng.choice(len(DIRECTIONS), p=straight + WANDER / len(DIRECTIONS))
            observation, reward, terminated, _, _ = env.step(np.int64(action))
            observations.append(observation)
            actions.append(int(action))
            rewards.append(float(reward))
    return Trajectory(
        np.array(observations, np.float64), np.array(actions), np.array(rewards), terminated
    )


def returns(episode: Trajectory, discount: float) -> NDArray[np.float64]:
    """Return the discounted return from each observation but the last."""
    values = np.zeros(len(episode.rewards))
    following = 0.0
    for t in reversed(range(len(values))):
        values[t] = following = episode.rewards[t] + discount * following
    return values


def rounded(points: Points) -> Points:
    """Return the cell of each point: state aggregation in its simplest form."""
    return np.rint(points)


def keys(cells: Points) -> NDArray[np.uint64]:
    """Return a 64-bit state for each cell."""
    x, y = (cells.astype(np.int64).T + (1 << 31)).astype(np.uint64)
    packed: NDArray[np.uint64] = x << np.uint64(32) | y
    return packed


class RoundingEncoder:
    """States by rounded coordinates."""

    def encode(self, histories: NDArray[Any]) -> NDArray[np.uint64]:
        """Return the states of [N, 1, 2] positions."""
        return keys(rounded(histories[:, -1]))


def tabulate(episodes: Sequence[Trajectory], discount: float) -> TransitionTable:
    """Return a table of all transitions between rounded coordinates."""
    spaces = Spaces((2,), np.dtype(np.float64), len(DIRECTIONS))
    config = TableConfig(discount=discount, min_priority=1e-6, backups_per_step=0)
    agent = TableAgent(spaces, config=config, encoder=RoundingEncoder())
    for episode in episodes:
        agent.begin(episode.observations[0])
        last = len(episode.actions) - 1
        for t, (action, reward) in enumerate(zip(episode.actions, episode.rewards, strict=True)):
            ends = episode.terminated and t == last
            agent.observe(int(action), float(reward), episode.observations[t + 1], ends, False)
        agent.cut()
    return agent.table
