"""The nearest neighbours are those of comparing with every entry, whatever happened before."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from vast.agents import nearest
from vast.agents.neighbours import KeyValueMemory

WIDTH = 3


class Plain:
    """Entries as a list from the least to the most recently used: (row, key, value)."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.entries: list[tuple[int, NDArray[np.float32], float]] = []

    def row(self, key: NDArray[np.float32]) -> int | None:
        return next((row for row, mine, _ in self.entries if (mine == key).all()), None)

    def add(self, key: NDArray[np.float32], value: float) -> int:
        row = len(self.entries)
        if row == self.capacity:
            row = self.entries.pop(0)[0]
        self.entries.append((row, key, value))
        return row

    def change(self, row: int, key: Any = None, value: Any = None, use: bool = False) -> None:
        at = next(i for i, entry in enumerate(self.entries) if entry[0] == row)
        _, old_key, old_value = self.entries[at]
        new = (row, old_key if key is None else key, old_value if value is None else value)
        self.entries[at] = new
        if use:
            self.entries.append(self.entries.pop(at))

    def nearest(self, query: NDArray[np.float32], k: int) -> list[tuple[float, int]]:
        far = [
            (float(((key.astype(np.float64) - query) ** 2).sum()), row)
            for row, key, _ in self.entries
        ]
        return sorted(far)[:k]


def check(memory: KeyValueMemory, plain: Plain, queries: NDArray[np.float32], k: int) -> None:
    assert len(memory) == len(plain.entries)
    found = memory.nearest(queries, k)
    for query, rows, squared in zip(queries, found.rows, found.squared, strict=True):
        # whole numbers, so that distances are exact, also those that are equal
        expected = plain.nearest(query, k)
        assert list(zip(squared.tolist(), rows.tolist(), strict=True)) == expected
    for row, key, value in plain.entries:
        assert memory.find(key) == row
        assert memory.values([row]) == value
    for query in queries:
        assert memory.find(query) == plain.row(query)


grid = st.integers(-2, 2)
"""few numbers, so that many entries are equally far"""
events = st.lists(
    st.tuples(
        st.sampled_from(["add", "add", "add", "value", "move", "touch"]),
        st.tuples(grid, grid, grid),
        st.integers(0, 99),
    ),
    max_size=40,
)


@given(events=events, capacity=st.integers(1, 9), k=st.integers(1, 5), far=st.integers(0, 10_000))
def test_any_history_of_entries_is_searched_as_by_brute_force(
    events: list[tuple[str, tuple[int, int, int], int]], capacity: int, k: int, far: int
) -> None:
    # Far from the origin, products lose the digits in which distances differ.
    origin = np.full(WIDTH, far, np.float32)
    memory, plain = KeyValueMemory(capacity, WIDTH), Plain(capacity)
    for kind, cell, number in events:
        key = origin + np.array(cell, np.float32)
        row = plain.row(key)
        if kind == "add" and row is None:
            assert memory.add(key, float(number)) == plain.add(key, float(number))
        elif kind == "value" and row is not None:
            memory.set_values([row], float(number))
            plain.change(row, value=float(number))
        elif kind == "touch" and row is not None:
            memory.touch([row])
            plain.change(row, use=True)
        elif kind == "move" and row is None and plain.entries:
            row = plain.entries[number % len(plain.entries)][0]
            memory.move([row], key[None])
            plain.change(row, key=key)
        check(memory, plain, key[None], k)
    again = KeyValueMemory(capacity, WIDTH)
    again.load_state_dict(memory.state_dict())
    for one in (memory, again):
        one.add(origin + 7, 0.5)
    plain.add(origin + 7, 0.5)
    for one in (memory, again):
        check(one, plain, np.stack([origin, origin + 7]), k)


@pytest.mark.parametrize("k", [1, 50])
def test_a_memory_of_many_blocks_is_searched_as_by_brute_force(k: int) -> None:
    assert nearest.BLOCK < 1000
    rng = np.random.default_rng(0)
    memory = KeyValueMemory(1000, 16)
    keys = rng.standard_normal((1000, 16)).astype(np.float32) + 30
    keys[500:] = keys[:500] + rng.normal(0, 1e-5, (500, 16)).astype(np.float32)
    for key in keys:
        memory.add(key, 0.0)
    queries = np.concatenate([keys[:20], keys[:20] + np.float32(0.1)])
    exact = ((queries[:, None].astype(np.float64) - keys) ** 2).sum(2)
    found = memory.nearest(queries, k)
    np.testing.assert_array_equal(found.rows, exact.argsort(1, kind="stable")[:, :k])
    np.testing.assert_allclose(found.squared, np.sort(exact, 1)[:, :k], rtol=1e-12)


def test_two_batches_of_touches_keep_the_order_within_them() -> None:
    memory = KeyValueMemory(3, 1)
    for i in range(3):
        memory.add(np.array([i], np.float32), 0.0)
    memory.touch([2, 0, 1, 2])
    rows = [memory.add(np.array([i], np.float32), 0.0) for i in range(10, 13)]
    assert rows == [0, 1, 2]


def test_a_damaged_memory_is_refused() -> None:
    memory = KeyValueMemory(2, 3)
    memory.add(np.ones(3, np.float32), 1.0)
    state = memory.state_dict()
    for name, wrong in (
        ("keys", np.ones((3, 3), np.float32)),
        ("keys", np.ones((1, 2), np.float32)),
        ("keys", np.ones((1, 3))),
        ("values", np.ones(2)),
    ):
        with pytest.raises(ValueError, match="saved memory"):
            KeyValueMemory(2, 3).load_state_dict({**state, name: wrong})
