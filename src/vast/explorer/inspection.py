"""Everything there is to say about one state: values, counts, sources, neighbours on the map."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vast.analysis.states import find_rows
from vast.explorer.places import Places
from vast.explorer.view import View
from vast.explorer.what_if import WhatIf
from vast.planning import Transitions

Keys = NDArray[np.uint64]

LISTED = 8
"""how many outcomes and sources of a value are listed, at most; their number is told"""
DRAWN = 400
"""how many arrows are drawn to and from a state, at most"""


def inspect(view: View, what_if: WhatIf, row: int) -> dict[str, Any]:
    """Return what the page shows of a state."""
    return _Inspection(view, what_if, row).told()


class _Inspection:
    def __init__(self, view: View, what_if: WhatIf, row: int) -> None:
        self._view, self._row = view, row
        self._places, self._table = what_if.places, what_if.table
        self._key = int(self._places.keys[row])
        self._pairs = self._table.pairs()
        self._order = np.argsort(self._pairs.states)
        self._leaving = self._table.successors(self._key)

    def told(self) -> dict[str, Any]:
        """Return everything."""
        view, table, row, key = self._view, self._table, self._row, self._key
        n_bits = view.states.n_bits
        stored = row < len(view.states)  # a state of a forced run is not
        value = table.value(key)
        (propagated,) = self._propagated(np.array([key], np.uint64)).tolist()
        arriving = table.predecessors(key)
        return {
            "row": row,
            "key": f"{key:016x}",
            "code": f"{key & (1 << n_bits) - 1:0{n_bits}b}"[::-1],
            "tag": f"{key >> n_bits:0{64 - n_bits}b}"[::-1] if n_bits < 64 else "",
            "pose": [*self._places.at[row].tolist(), float(self._places.heading[row])],
            "frames": int(view.states.frame_counts[row]) if stored else 0,
            "visits": int(view.states.visits[row]) if stored else 0,
            "last": view.age(row) if stored else -1,
            "value": value,
            "learned": view.table.value(key),
            "propagated": propagated,
            "priority": abs(value - propagated),
            "discount": table.discount,
            "actions": [self._action(action) for action in range(table.n_actions)],
            "successors": _arrows(self._places, self._leaving.next_states, self._leaving),
            "predecessors": _arrows(self._places, arriving.states, arriving),
        }

    def _propagated(self, keys: Keys) -> NDArray[np.float64]:
        """Return U of states, the values that backups use; 0 for those not in the table."""
        rows = find_rows(self._pairs.states[self._order], keys)
        return np.where(rows >= 0, self._pairs.propagated[self._order[rows]], 0.0)

    def _action(self, action: int) -> dict[str, Any]:
        """Return Q of an action and where it comes from: its outcomes, or nearby states."""
        count = self._table.count(self._key, action)
        found: dict[str, Any] = {
            "name": self._view.actions[action],
            "count": count,
            "learned": float(self._view.table.q(self._key)[action]),
        }
        return found | (self._outcomes(action) if count else self._borrowed(action))

    def _outcomes(self, action: int) -> dict[str, Any]:
        """Return the terms of the backup's equation."""
        moves = self._leaving
        chosen = np.flatnonzero(moves.actions == action)
        chosen = chosen[np.argsort(-moves.counts[chosen], kind="stable")]
        ends, counts = moves.terminals[chosen], moves.counts[chosen]
        rows = self._places.rows(moves.next_states[chosen])
        values = np.where(ends, 0.0, self._propagated(moves.next_states[chosen]))
        return {
            "q": float(self._table.q(self._key)[action]),
            "reward": self._table.mean_reward(self._key, action),
            "outcomes": [
                {"row": None if end else row, "count": count, "value": value}
                for row, end, count, value in zip(
                    rows[:LISTED].tolist(),
                    ends[:LISTED].tolist(),
                    counts[:LISTED].tolist(),
                    values[:LISTED].tolist(),
                    strict=True,
                )
            ],
            "n_outcomes": len(chosen),
            # The others in one number, so that the equation on the page adds up.
            "rest": float(counts[LISTED:] @ values[LISTED:]),
        }

    def _borrowed(self, action: int) -> dict[str, Any]:
        """Return the estimate of an action never taken here, and whose values it averages."""
        pairs = self._pairs
        q, distance = self._table.estimate(self._key)
        away = np.bitwise_count(pairs.states ^ np.uint64(self._key))
        sources = np.flatnonzero((away == distance[action]) & (pairs.counts[:, action] > 0))
        sources = sources[np.lexsort((pairs.states[sources], -pairs.counts[sources, action]))]
        listed = sources[:LISTED]
        return {
            "q": float(q[action]),
            "distance": int(distance[action]),
            "n_sources": len(sources),
            "sources": [
                {"row": row, "count": count, "value": value}
                for row, count, value in zip(
                    self._places.rows(pairs.states[listed]).tolist(),
                    pairs.counts[listed, action].tolist(),
                    pairs.q[listed, action].tolist(),
                    strict=True,
                )
            ],
        }


def _arrows(places: Places, keys: Keys, moves: Transitions) -> dict[str, Any]:
    """Return the states at the other ends of transitions, the most frequent first."""
    inner = ~moves.terminals
    rows, actions, counts = places.rows(keys[inner]), moves.actions[inner], moves.counts[inner]
    order = np.argsort(-counts, kind="stable")
    order = order[rows[order] >= 0][:DRAWN]
    return {
        "n": int(inner.sum()),
        "rows": rows[order].tolist(),
        "actions": actions[order].tolist(),
        "counts": counts[order].tolist(),
    }
