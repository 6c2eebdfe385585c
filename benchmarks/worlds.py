"""A synthetic environment of any size: a noisy grid of places and headings, and its tables."""

import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from vast.planning import ReferenceTable, TransitionTable
from vast.planning.arguments import Columns
from vast.planning.table import Queue

DISCOUNT, MIN_PRIORITY = 0.99, 5e-5
"""the paper's"""

N_HEADINGS = 8
N_ACTIONS = 3
"""forward, turn left, turn right"""
PER_STATE = 12
"""transitions per state: about five distinct predecessors each"""
NOISE = 0.3
"""share of steps that end beside their target"""


def keys_of(states: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return a scattered 64-bit code for each state (the finaliser of splitmix64)."""
    x = (states.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


class NoisyGrid:
    """Places on a square, eight headings each; the goal is the place in the middle."""

    def __init__(self, n_states: int, seed: int = 0) -> None:
        self.side = int(np.sqrt(n_states / N_HEADINGS))
        self.n_states = self.side**2 * N_HEADINGS
        self.rng = np.random.default_rng(seed)

    def transitions(self, n: int) -> Columns:
        """Return random transitions, each from a random state by a random action."""
        rng, side = self.rng, self.side
        s = rng.integers(0, self.n_states, n)
        action = rng.integers(0, N_ACTIONS, n)
        heading, x, y = s % N_HEADINGS, s // N_HEADINGS % side, s // N_HEADINGS // side
        angle = heading * (2 * np.pi / N_HEADINGS)
        forward = action == 0
        slip = rng.integers(-1, 2, n) * (rng.random(n) < NOISE)
        x = np.clip(x + forward * np.rint(np.cos(angle)).astype(np.int64) + slip, 0, side - 1)
        y = np.clip(y + forward * np.rint(np.sin(angle)).astype(np.int64), 0, side - 1)
        heading = (heading + (action == 1) - (action == 2)) % N_HEADINGS
        goal = (x == side // 2) & (y == side // 2)
        after = (y * side + x) * N_HEADINGS + heading
        return keys_of(s), action.astype(np.uint8), goal.astype(float), keys_of(after), goal

    def all_transitions(self, at_once: int = 2_000_000) -> Iterator[Columns]:
        """Yield about PER_STATE transitions per state, in parts."""
        left = PER_STATE * self.n_states
        while left > 0:
            yield self.transitions(min(left, at_once))
            left -= at_once

    def beside_goal(self) -> list[tuple[int, int]]:
        """Return the states at and beside the goal, each with the action forward."""
        middle = self.side // 2 * (self.side + 1)
        beside = np.arange(middle - 1, middle + 2)
        states = (beside[:, None] * N_HEADINGS + np.arange(N_HEADINGS)).ravel()
        return [(int(key), 0) for key in keys_of(states)]


def build(grid: NoisyGrid, queue: Queue = "bucketed") -> tuple[TransitionTable, float]:
    """Return a table of the whole grid, and how many transitions per second were added."""
    table = TransitionTable(N_ACTIONS, DISCOUNT, MIN_PRIORITY, queue)
    added, seconds = 0, 0.0
    for columns in grid.all_transitions():
        begin = time.perf_counter()
        table.add_many(*columns)
        seconds += time.perf_counter() - begin
        added += len(columns[0])
    return table, added / seconds


def build_reference(grid: NoisyGrid) -> ReferenceTable:
    """Return the plain-Python table of the whole grid."""
    reference = ReferenceTable(N_ACTIONS, DISCOUNT, MIN_PRIORITY)
    for columns in grid.all_transitions():
        for state, action, reward, after, end in zip(*(c.tolist() for c in columns), strict=True):
            reference.add(state, action, reward, None if end else after)
    return reference
