"""Everything there is to say about one state: values, counts, sources, neighbours on the map."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vast.explorer.places import Places
from vast.explorer.view import View
from vast.explorer.what_if import WhatIf
from vast.planning import Transitions, TransitionTable

LISTED = 8
"""how many outcomes and sources of a value are listed, at most; their number is told"""
DRAWN = 400
"""how many arrows are drawn to and from a state, at most"""


def inspect(view: View, what_if: WhatIf, row: int) -> dict[str, Any]:
    """Return what the page shows of a state."""
    places, table = what_if.places, what_if.table
    key = int(places.keys[row])
    n_bits = view.states.n_bits
    here = row < len(view.states)
    x, y = places.at[row].tolist()
    pairs = table.pairs()
    (at,) = np.flatnonzero(pairs.states == np.uint64(key)).tolist() or [None]
    told = float(pairs.propagated[at]) if at is not None else 0.0
    value = table.value(key)
    propagated = dict(zip(pairs.states.tolist(), pairs.propagated.tolist(), strict=True))
    leaving, arriving = table.successors(key), table.predecessors(key)
    return {
        "row": row,
        "key": f"{key:016x}",
        "code": f"{key & (1 << n_bits) - 1:0{n_bits}b}"[::-1],
        "tag": f"{key >> n_bits:0{64 - n_bits}b}"[::-1] if n_bits < 64 else "",
        "pose": [x, y, float(places.heading[row])],
        "frames": int(view.states.frame_counts[row]) if here else 0,
        "visits": int(view.states.visits[row]) if here else 0,
        "last": _age(view, row) if here else -1,
        "value": value,
        "learned": view.table.value(key),
        "propagated": told,
        "priority": abs(value - told),
        "discount": table.discount,
        "actions": [
            _action(view, places, table, key, action, leaving, propagated)
            for action in range(table.n_actions)
        ],
        "successors": _arrows(places, leaving.next_states, leaving),
        "predecessors": _arrows(places, arriving.states, arriving),
    }


def _age(view: View, row: int) -> int:
    last = int(view.states.last[row])
    return view.states.frames_end - 1 - last if last >= 0 else -1


def _action(
    view: View,
    places: Places,
    table: TransitionTable,
    key: int,
    action: int,
    leaving: Transitions,
    propagated: dict[int, float],
) -> dict[str, Any]:
    """Return Q of an action and where it comes from: its outcomes, or nearby states."""
    count = table.count(key, action)
    learned = float(view.table.q(key)[action])
    found: dict[str, Any] = {"name": view.actions[action], "count": count, "learned": learned}
    if count == 0:
        return found | _borrowed(places, table, key, action)
    chosen = leaving.actions == action
    order = np.argsort(-leaving.counts[chosen], kind="stable")
    outcomes = [
        {
            "row": None if terminal else int(places.rows([state])[0]),
            "count": int(times),
            "value": 0.0 if terminal else propagated.get(int(state), 0.0),
        }
        for state, terminal, times in zip(
            leaving.next_states[chosen][order].tolist(),
            leaving.terminals[chosen][order].tolist(),
            leaving.counts[chosen][order].tolist(),
            strict=True,
        )
    ]
    return found | {
        "q": float(table.q(key)[action]),
        "reward": table.mean_reward(key, action),
        "outcomes": outcomes[:LISTED],
        "n_outcomes": len(outcomes),
        # The rest in one number, so that the equation on the page adds up.
        "rest": sum(each["count"] * each["value"] for each in outcomes[LISTED:]),
    }


def _borrowed(places: Places, table: TransitionTable, key: int, action: int) -> dict[str, Any]:
    """Return the neighbour estimate of an action never taken here, and whose values it averages."""
    q, distance = table.estimate(key)
    far = int(distance[action])
    pairs = table.pairs()
    away: NDArray[np.uint8] = np.bitwise_count(pairs.states ^ np.uint64(key))
    sources = np.flatnonzero((away == far) & (pairs.counts[:, action] > 0)) if far >= 0 else []
    ordered = sorted(sources, key=lambda i: (-pairs.counts[i, action], pairs.states[i]))
    return {
        "q": float(q[action]),
        "distance": far,
        "n_sources": len(ordered),
        "sources": [
            {
                "row": int(places.rows(pairs.states[i : i + 1])[0]),
                "count": int(pairs.counts[i, action]),
                "value": float(pairs.q[i, action]),
            }
            for i in ordered[:LISTED]
        ],
    }


def _arrows(places: Places, keys: NDArray[np.uint64], moves: Transitions) -> dict[str, Any]:
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
