"""Fig. 1A, B: two episodes in the continuous T-maze, and what can be learned from them.

The first episode wanders from the right arm through the centre into the left arm and ends without
reward. The second one starts in the left arm and reaches the goal at the bottom of the stem. No
place is met twice; but with rounded coordinates both pass through some of the same states, and
there planning can carry the reward over to the first episode.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import gymnasium
import numpy as np
from numpy.typing import NDArray

from vast.envs.tmaze2d import DIRECTIONS
from vast.planning import TransitionTable

Points = NDArray[np.float64]

RIGHT_TO_LEFT = ((4.87, 0.31), [(0.0, 0.0), (-3.0, -0.4)])
LEFT_TO_GOAL = ((-4.63, 0.57), [(0.0, -0.4), (0.2, -5.0), (0.0, -9.4)])
"""where an episode starts, and the places it then makes for"""

WANDER = 0.4
"""the share of steps taken at random on the way"""


@dataclass(frozen=True)
class Episode:
    """What one episode brought."""

    observations: Points
    """[T + 1, 2] the first place and those after each step"""
    actions: NDArray[np.int64]
    rewards: NDArray[np.float64]
    terminated: bool
    """whether it ended in the goal zone"""


@dataclass(frozen=True)
class TwoEpisodes:
    """The figure's data."""

    episodes: tuple[Episode, Episode]
    episodic_values: tuple[Points, Points]
    """the return that followed each observation, which is all that episodic control has"""
    cells: Points
    """[n, 2] the rounded coordinates that were visited"""
    cell_values: NDArray[np.float64]
    """the value of each cell by prioritized sweeping"""
    shared: NDArray[np.bool_]
    """whether both episodes came through the cell"""


def run(seed: int = 23, discount: float = 0.95) -> TwoEpisodes:
    """Act out both episodes and learn from them in both ways."""
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
        cell_values=np.array([table.value(key) for key in keys(cells)]),
        shared=np.array([tuple(cell) in visited[0] & visited[1] for cell in cells]),
    )


def wander(
    start: tuple[float, float], places: Sequence[tuple[float, float]], rng: np.random.Generator
) -> Episode:
    """Go from place to place with many a random step, up to the last place or the goal."""
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
    return Episode(
        np.array(observations, np.float64), np.array(actions), np.array(rewards), terminated
    )


def returns(episode: Episode, discount: float) -> NDArray[np.float64]:
    """Return the discounted return from each observation but the last."""
    values = np.zeros(len(episode.rewards))
    following = 0.0
    for t in reversed(range(len(values))):
        values[t] = following = episode.rewards[t] + discount * following
    return values


def rounded(points: Points) -> Points:
    """Return the cell of each point: state aggregation in its simplest form."""
    return np.rint(points)


def keys(cells: Points) -> list[int]:
    """Return a 64-bit state for each cell."""
    x, y = (cells.astype(np.int64).T + (1 << 31)).astype(np.uint64)
    return [int(key) for key in x << np.uint64(32) | y]


def tabulate(episodes: Sequence[Episode], discount: float) -> TransitionTable:
    """Return a table of all the transitions between rounded coordinates."""
    table = TransitionTable(len(DIRECTIONS), discount, min_priority=1e-6)
    for episode in episodes:
        states = keys(rounded(episode.observations))
        last = len(episode.actions) - 1
        for t, (action, reward) in enumerate(zip(episode.actions, episode.rewards, strict=True)):
            ends = episode.terminated and t == last
            table.add(states[t], int(action), float(reward), None if ends else states[t + 1])
    return table
