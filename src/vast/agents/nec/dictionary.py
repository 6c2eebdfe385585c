"""The differentiable neural dictionary of Pritzel et al. 2017: one memory per action.

A value is read as the mean of the nearest entries' values, weighted by the inverse-distance kernel
1 / (d^2 + delta). It can be differentiated by the query, by the entries' keys and by their values.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vast.agents.config import InvertedSearch
from vast.agents.nearest import Keys, Rows
from vast.agents.neighbours import KeyValueMemory
from vast.model.network_state import tensor_like


def estimate(queries: Tensor, keys: Tensor, values: Tensor, delta: float) -> Tensor:
    """Return [B] values of [B, w] queries, from neighbours' [B, k, w] keys and [B, k] values."""
    assert keys.shape[:2] == values.shape
    assert queries.shape == (keys.shape[0], keys.shape[2])
    kernel = 1 / ((queries[:, None] - keys).square().sum(2) + delta)
    return (kernel * values).sum(1) / kernel.sum(1)


class Lookup(NamedTuple):
    """What one query finds in all dictionaries."""

    values: NDArray[np.float64]
    """[A], 0 for an action whose dictionary is empty"""
    rows: list[Rows]
    """for each action, its neighbours, the nearest first"""
    distances: list[NDArray[np.float64]]
    """for each action, their distances"""


class GradientLookup(NamedTuple):
    """Neighbours of some queries in one dictionary, as leaves that receive gradients."""

    action: int
    rows: Rows
    """[b, k]"""
    keys: Tensor
    """[b, k, w]"""
    values: Tensor
    """[b, k]"""


class Dictionary:
    """Keys and values for each action."""

    def __init__(
        self,
        n_actions: int,
        capacity: int,
        width: int,
        neighbours: int,
        delta: float,
        inverted: InvertedSearch | None = None,
    ) -> None:
        self.neighbours, self.delta = neighbours, delta
        self.memories = [KeyValueMemory(capacity, width, inverted) for _ in range(n_actions)]

    def __len__(self) -> int:
        return sum(map(len, self.memories))

    def look_up(self, key: Keys) -> Lookup:
        """Read the value of each action at a key; leave no trace."""
        found = Lookup(np.zeros(len(self.memories)), [], [])
        for a, memory in enumerate(self.memories):
            rows, squared = (found[0] for found in memory.nearest(key[None], self.neighbours))
            if len(rows):
                kernel = 1 / (squared + self.delta)
                found.values[a] = (kernel * memory.values(rows)).sum() / kernel.sum()
            found.rows.append(rows)
            found.distances.append(np.sqrt(squared))
        return found

    def touch(self, found: Lookup) -> None:
        """Mark the entries of a lookup as used."""
        for memory, rows in zip(self.memories, found.rows, strict=True):
            memory.touch(rows[::-1])

    def write(self, action: int, key: Keys, value: float, rate: float) -> None:
        """Store a value; an existing key's value moves towards it by a share `rate`."""
        memory = self.memories[action]
        row = memory.find(key)
        if row is None:
            memory.add(key, value)
        else:
            old = memory.values([row])
            memory.set_values([row], old + rate * (value - old))
            memory.touch([row])

    # --- learning ---------------------------------------------------------------------------------

    def estimates(
        self, queries: Tensor, actions: NDArray[np.int64]
    ) -> tuple[Tensor, list[GradientLookup]]:
        """Return Q(query, action) of [B, w] queries, and the entries that receive gradients."""
        found = queries.detach().cpu().numpy()
        q = queries.new_zeros(len(actions))
        lookups = []
        for a in np.unique(actions).tolist():
            memory, which = self.memories[a], np.flatnonzero(actions == a)
            rows = memory.nearest(found[which], self.neighbours).rows
            lookup = GradientLookup(
                a,
                rows,
                tensor_like(memory.keys(rows), queries).requires_grad_(),
                tensor_like(memory.values(rows), queries).requires_grad_(),
            )
            lookups.append(lookup)
            at = torch.from_numpy(which).to(queries.device)
            read = estimate(queries[at], lookup.keys, lookup.values, self.delta)
            q = q.index_put((at,), read)
        return q, lookups

    def descend(self, lookups: Sequence[GradientLookup], rate: float) -> None:
        """Move the neighbours' keys and values against their gradients, and mark them as used."""
        for action, rows, keys, values in lookups:
            assert keys.grad is not None
            assert values.grad is not None
            memory = self.memories[action]
            order = np.argsort(rows, axis=None, kind="stable")
            moved, start = np.unique(rows.ravel()[order], return_index=True)
            # the sums over all lookups that share a neighbour
            by_key = _sums(keys.grad.flatten(0, 1).cpu().numpy()[order], start)
            by_value = _sums(values.grad.flatten().cpu().numpy()[order], start)
            memory.move(moved, (memory.keys(moved) - rate * by_key).astype(np.float32))
            memory.set_values(moved, memory.values(moved) - rate * by_value)
            memory.touch(rows[:, ::-1].ravel())

    # --- saving -----------------------------------------------------------------------------------

    def state_dict(self) -> list[dict[str, Any]]:
        """Return all memories."""
        return [memory.state_dict() for memory in self.memories]

    def load_state_dict(self, state: Sequence[Mapping[str, Any]]) -> None:
        """Restore saved memories."""
        for memory, saved in zip(self.memories, state, strict=True):
            memory.load_state_dict(saved)


def _sums(rows: NDArray[np.float32], start: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the sums of the rows from each start to the next, in double precision."""
    sums: NDArray[np.float64] = np.add.reduceat(rows, start, axis=0, dtype=np.float64)
    return sums
