"""Where the states are on the map: at their mean poses, or in a layout of the state graph."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vast.analysis.states import States, find_rows
from vast.explorer.layout import layout
from vast.planning import TransitionTable

Floats = NDArray[np.float64]
Keys = NDArray[np.uint64]


@dataclass(frozen=True)
class Places:
    """The states of the map by row: those of the table first, then what was added in a session."""

    keys: Keys
    """[S]"""
    at: Floats
    """[S, 2] x and y; nan for a state whose frames are no longer stored"""
    heading: Floats
    """[S] degrees, counter-clockwise from east; nan: none"""
    measured: bool
    """whether places are poses in the world; otherwise they are a layout of the graph"""

    def __len__(self) -> int:
        return len(self.keys)

    def rows(self, keys: Any) -> NDArray[np.int64]:
        """Return the row of each key, -1 where there is none."""
        found = find_rows(self.keys[self._order], np.asarray(keys, np.uint64))
        return np.where(found >= 0, self._order[found], -1)

    @cached_property
    def _order(self) -> NDArray[np.int64]:
        return np.argsort(self.keys)

    def near_line(self, points: Floats, radius: float) -> NDArray[np.int64]:
        """Return the rows of states within a distance of a line through several points."""
        nearest = np.full(len(self), np.inf)
        ends = points[1:] if len(points) > 1 else points
        for start, end in zip(points, ends, strict=False):
            along = end - start
            length = float(along @ along)
            share = ((self.at - start) @ along / length).clip(0, 1) if length else 0.0
            off = self.at - start - np.multiply.outer(share, along)
            nearest = np.fmin(nearest, np.hypot(off[:, 0], off[:, 1]))
        return np.flatnonzero(nearest <= radius)

    def nearest(self, x: float, y: float) -> int:
        """Return the row of the state nearest to a point."""
        return int(np.nanargmin(np.hypot(self.at[:, 0] - x, self.at[:, 1] - y)))

    def with_states(self, keys: Keys, poses: Floats) -> "Places":
        """Return the places with more states, at their poses, that are not among these."""
        new = self.rows(keys) < 0
        _, first = np.unique(keys[new], return_index=True)
        chosen = np.flatnonzero(new)[np.sort(first)]
        return replace(
            self,
            keys=np.concatenate([self.keys, keys[chosen]]),
            at=np.concatenate([self.at, poses[chosen, :2]]),
            heading=np.concatenate([self.heading, poses[chosen, 2]]),
        )


def places_of(states: States, table: TransitionTable) -> Places:
    """Return the places of a table's states."""
    at, heading = states.pose[:, :2], states.pose[:, 2]
    measured = bool(np.isfinite(at).all(axis=1).any())
    if not measured:
        moves = table.transitions()
        inner = ~moves.terminals
        sources = find_rows(states.keys, moves.states[inner])
        targets = find_rows(states.keys, moves.next_states[inner])
        at = layout(sources, targets, len(states))
        heading = np.full(len(states), np.nan)
    return Places(states.keys, at, heading, measured)
