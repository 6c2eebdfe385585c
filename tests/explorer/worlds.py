"""A grid of cells with four actions, as a table and as a list of transitions: easy to solve."""

from collections.abc import Iterable

import numpy as np

from tests.planning.models import CountedModel, Step
from vast.explorer.places import Places
from vast.explorer.view import View, view_of_table
from vast.planning import TransitionTable

MOVES = ((1, 0), (0, 1), (-1, 0), (0, -1))
"""east, north, west, south"""
DISCOUNT, EXACTLY = 0.9, 1e-12


def key(x: int, y: int) -> int:
    """Return the state of a cell: all kinds of bits."""
    return (x * 0x9E3779B97F4A7C15 + y * 0xBF58476D1CE4E5B9 + 12345) % 2**64


def steps_in_grid(width: int, height: int, living: float = -0.01) -> list[Step]:
    """Return every move in a grid, twice; the cell in the last corner ends the episode with 1."""
    steps = []
    for x in range(width):
        for y in range(height):
            for action, (dx, dy) in enumerate(MOVES):
                if (x, y) == (width - 1, height - 1):
                    steps += [Step(key(x, y), action, 1.0, None)] * 2
                    continue
                to = min(max(x + dx, 0), width - 1), min(max(y + dy, 0), height - 1)
                steps += [Step(key(x, y), action, living, key(*to))] * 2
    return steps


def table_of(
    steps: Iterable[Step], discount: float = DISCOUNT, p_min: float = EXACTLY
) -> TransitionTable:
    """Return a swept table of transitions."""
    table = TransitionTable(len(MOVES), discount, p_min)
    for step in steps:
        table.add(*step)
    table.sweep()
    return table


def grid_places(width: int, height: int) -> Places:
    """Return the cells at their coordinates."""
    cells = [(x, y) for x in range(width) for y in range(height)]
    keys = np.array([key(*cell) for cell in cells], np.uint64)
    order = np.argsort(keys)
    at = np.array(cells, float)[order]
    return Places(keys[order], at, np.full(len(cells), np.nan), measured=True)


def grid_view(width: int, height: int, p_min: float = EXACTLY) -> View:
    """Return the view of a grid."""
    table = table_of(steps_in_grid(width, height), p_min=p_min)
    return view_of_table(table, "a grid", grid_places(width, height))


def solved(steps: Iterable[Step], discount: float = DISCOUNT) -> CountedModel:
    """Return the transitions as a model that knows its own solution."""
    model = CountedModel(len(MOVES), discount)
    model.steps = list(steps)
    return model
