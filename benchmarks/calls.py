"""How long single calls of a table take: the neighbour estimate, adding, the step of an agent."""

import statistics
import time
from functools import partial

import numpy as np
from numpy.typing import NDArray

from benchmarks.timing import microseconds
from benchmarks.worlds import DISCOUNT, MIN_PRIORITY, N_ACTIONS, NoisyGrid, build, keys_of
from vast.planning import BackgroundSweeper, TransitionTable


def look_up(table: TransitionTable, queries: list[int], i: int) -> None:
    """Ask for one neighbour estimate."""
    table.estimate(queries[i])


def search(
    keys: NDArray[np.uint64], q: NDArray[np.float64], queries: list[int], i: int
) -> NDArray[np.float64]:
    """Average the values of the nearest keys in NumPy; every action is known in every state."""
    far = np.bitwise_count(keys ^ np.uint64(queries[i]))
    nearest: NDArray[np.float64] = q[far == far.min()].mean(axis=0)
    return nearest


def lookups(n_states: int) -> list[dict[str, float]]:
    """Compare the neighbour estimate, by distance, with a vectorised NumPy search."""
    rng = np.random.default_rng(3)
    table = TransitionTable(N_ACTIONS, DISCOUNT, MIN_PRIORITY)
    # Codes of 64 bits near each other, like an encoder's: a few centres with some bits flipped.
    centres = rng.integers(0, 2**64, max(4, n_states // 1000), np.uint64)
    flips = np.bitwise_or.reduce(np.uint64(1) << rng.integers(0, 64, (n_states, 8), np.uint64), 1)
    keys = np.unique(rng.choice(centres, n_states) ^ flips)
    for action in range(N_ACTIONS):
        n = len(keys)
        table.add_many(keys, np.full(n, action), rng.random(n), keys, np.ones(n, bool))
    q = table.estimate_many(keys)[0]
    rows = []
    for bits in (0, 1, 2, 3, 4, 8, 16):
        masks = [
            int(sum(1 << int(b) for b in rng.choice(64, bits, replace=False))) for _ in range(400)
        ]
        queries = [int(rng.choice(keys)) ^ mask for mask in masks]
        found = [int(table.estimate(query)[1][0]) for query in queries]
        distance = statistics.mode(found)
        queries = [query for query, far in zip(queries, found, strict=True) if far == distance]
        ours = microseconds(partial(look_up, table, queries), len(queries))

        theirs = microseconds(partial(search, keys, q, queries), min(len(queries), 50))
        rows.append(
            {
                "states": float(len(keys)),
                "distance": float(distance),
                "p50_us": float(np.median(ours)),
                "p99_us": float(np.percentile(ours, 99)),
                "numpy_p50_us": float(np.median(theirs)),
                "ratio_to_numpy": float(np.median(theirs) / np.median(ours)),
            }
        )
    return rows


def in_the_background(n_states: int, seconds: float) -> dict[str, float]:
    """Measure lookups and adds of a busy main thread while a sweeper runs in the background."""
    grid = NoisyGrid(n_states)
    table, _ = build(grid)
    table.sweep()
    goals = grid.beside_goal()
    keys = keys_of(np.arange(grid.n_states))
    rng = np.random.default_rng(4)
    sweeper = BackgroundSweeper(table)
    sweeper.start()
    lookup, add = [], []
    end = time.perf_counter() + seconds
    step = 0
    while time.perf_counter() < end:
        key = int(rng.choice(keys))
        begin = time.perf_counter()
        table.estimate(key)
        lookup.append(time.perf_counter() - begin)
        if step % 20 == 0:
            state, action = goals[int(rng.integers(len(goals)))]
            begin = time.perf_counter()
            table.add(state, action, float(rng.normal() * 100), None)
            add.append(time.perf_counter() - begin)
        sum(range(500))  # a main thread that computes in Python
        step += 1
    sweeper.stop()
    done = sweeper.statistics
    return {
        "states": float(len(table)),
        "lookup_p50_us": float(np.percentile(lookup, 50) * 1e6),
        "lookup_p99_us": float(np.percentile(lookup, 99) * 1e6),
        "add_p50_us": float(np.percentile(add, 50) * 1e6),
        "add_p99_us": float(np.percentile(add, 99) * 1e6),
        "backups_per_second": done.backups / seconds,
    }


def inline_step(n_states: int) -> dict[str, float]:
    """Measure one step of an agent: look up, add, and plan up to 2000 backups."""
    grid = NoisyGrid(n_states)
    table, _ = build(grid)
    table.sweep()
    columns = [column.tolist() for column in grid.transitions(5000)]

    def step(i: int) -> None:
        state, action, reward, after, end = (column[i] for column in columns)
        table.estimate(state)
        table.add(state, action, reward, None if end else after)
        table.sweep(2000)

    times = microseconds(step, 5000)
    return {"states": float(len(table)), "p50_us": float(np.median(times)), "mean_us": times.mean()}


def hub(n_predecessors: int = 100_000) -> dict[str, float]:
    """Measure adding to and sweeping from a state with very many predecessors."""
    table = TransitionTable(1, DISCOUNT, MIN_PRIORITY)
    n = n_predecessors
    table.add_many(
        np.arange(1, n + 1), np.zeros(n, int), np.zeros(n), np.zeros(n, int), [False] * n
    )
    extra = microseconds(lambda i: table.add(n - i, 0, 0.0, 0), 500)
    begin = time.perf_counter()
    table.add(0, 0, 1.0, None)
    backups = table.sweep()
    return {
        "predecessors": float(n),
        "add_p50_us": float(np.median(extra)),
        "backups_per_second": backups / (time.perf_counter() - begin),
    }
