"""Speed of nearest-neighbour search: exact, by an inverted file, and of a table's nearest states.

The unit is the one matrix product that no exact search can avoid. All take turns, so other work on
the machine slows all of them; ratios are medians over the rounds. There is one query, as for a
decision, or eleven, a third of a minibatch. Keys are near a curved surface of three dimensions,
like those of places and headings; with `--task`, they are MFEC's keys of a random walk in that
task, which are harder for the inverted file. The numbers of neighbours, lists and probes are those
of MFEC and NEC; centroids are computed at 40 000 entries, and the other entries are added later.

The table has one action and as many states as the memory has entries: the signs of the keys, as in
LSH, and since some keys have the same, neighbours of these with one bit flipped.
`TransitionTable.estimate_many` finds all nearest states and averages them; in the space of keys,
neighbours are found only. Most new keys have known codes; with four bits flipped, none has.

    python -m benchmarks.neighbours [--json FILE] [--entries 50000 500000] [--rounds 9]
        [--task plus-maze]
"""

import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import numpy as np
import tyro
from numpy.typing import NDArray

from benchmarks.growth import recall
from benchmarks.random_walk import random_walk
from benchmarks.report import machine, report_console, show, write_json
from vast.agents.mfec import MFECConfig, preset
from vast.agents.nec.config import NECConfig
from vast.agents.neighbours import Keys, KeyValueMemory
from vast.agents.projection import Projection
from vast.model import codes
from vast.planning import TransitionTable
from vast.replay.resizing import Resizer
from vast.tasks import task_named

Draw = Callable[[int], Keys]

WIDTH = 64
NOISE = 0.05
"""standard deviation of keys around the surface, in coordinates between -1 and 1"""
ASKED = 500
"""queries for the estimate of recall"""
FLIPPED = (0, 4)
"""bits of a query's code that are flipped, beyond those in which it differs anyway"""
MOVED = 1600
"""keys that a training step of NEC moves at most: 32 times 50"""


def places(n: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """Return keys near a curved surface of three dimensions."""
    directions = np.random.default_rng(0).standard_normal((3, WIDTH))
    keys: NDArray[np.float32] = np.sin(rng.random((n, 3)) * 3 @ directions).astype(np.float32)
    keys += np.float32(NOISE) * rng.standard_normal(keys.shape, np.float32)
    return keys


def timed(what: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    what()
    return time.perf_counter() - begin


def keys_of_walk(task: str) -> Iterator[Keys]:
    """Yield the keys that MFEC's preset `paper` gives the observations of a random walk."""
    shape = task_named(task).shape
    resize = Resizer(shape, preset("paper", task, shape).resize)
    project = Projection(resize.shape, 0, WIDTH, 0.0, np.random.SeedSequence(0))
    for observation in random_walk(task):
        yield project(resize(observation)[None])


def next_keys(keys: Iterator[Keys], n: int) -> Keys:
    """Return the next n keys."""
    return np.stack(list(islice(keys, n)))


def measured(entries: int, rounds: int, draw: Draw) -> tuple[list[Any], list[Any]]:
    """Return the rows of both tables."""
    rng = np.random.default_rng(1)
    keys = draw(entries)
    asked = draw(ASKED)
    exact = KeyValueMemory(entries, WIDTH)
    adding = timed(lambda: [exact.add(key, 0.0) for key in keys])
    table = tabulated(keys)
    rows: list[dict[str, Any]] = []
    beside: list[dict[str, Any]] = []
    for config in (MFECConfig(index="inverted"), NECConfig(index="inverted")):
        k, inverted = config.neighbours, KeyValueMemory(entries, WIDTH, config.inverted)
        for key in keys:
            inverted.add(key, 0.0)
        for count in (1, 11):
            turns = [turn(exact, inverted, keys, draw(count), k) for _ in range(rounds)]
            of_product, faster, milliseconds = np.array(turns).T
            rows.append(
                {
                    "entries": entries,
                    "neighbours": k,
                    "queries": count,
                    "exact_ms": float(np.median(milliseconds)),
                    "exact_of_one_product": float(np.median(of_product)),
                    "inverted_times_faster": float(np.median(faster)),
                    "recall_percent": 100 * recall(inverted, asked, k),
                    "ms_per_move_of_1600": 1000 * moving(inverted, rng),
                    "microseconds_per_add": 1e6 * adding / entries,
                }
            )
            beside += [
                {"entries": entries, "neighbours": k, "queries": count}
                | by_hamming(exact, inverted, table, [draw(count) for _ in range(rounds)], k, bits)
                for bits in FLIPPED
            ]
    return rows, beside


def turn(
    exact: KeyValueMemory, inverted: KeyValueMemory, keys: Keys, queries: Keys, k: int
) -> tuple[float, float, float]:
    """Return the time of an exact search: in products, in inverted searches, in milliseconds."""
    product = timed(partial(np.matmul, keys, queries.T))
    slow = timed(partial(exact.nearest, queries, k))
    fast = timed(partial(inverted.nearest, queries, k))
    return slow / product, slow / fast, 1000 * slow


def tabulated(keys: Keys) -> TransitionTable:
    """Return a table with the states of these keys, and as many in all as there are keys."""
    rng = np.random.default_rng(0)
    states = np.unique(codes.pack(keys > 0))
    while len(states) < len(keys):
        flipped = np.uint64(1) << rng.integers(0, WIDTH, len(states), np.uint64)
        states = np.union1d(states, (states ^ flipped)[: len(keys) - len(states)])
    table = TransitionTable(1)
    nothing = np.zeros(len(states), np.uint8)
    table.add_many(rng.permutation(states), nothing, nothing, states, nothing == 0)
    return table


def by_hamming(
    exact: KeyValueMemory,
    inverted: KeyValueMemory,
    table: TransitionTable,
    queries: list[Keys],
    k: int,
    flipped: int,
) -> dict[str, Any]:
    """Return how fast the table is searched, and how much faster than the memories."""
    rng = np.random.default_rng(2)
    turns, distances = [], []
    for keys in queries:
        bits = keys > 0
        for row in bits:
            row[rng.choice(WIDTH, flipped, replace=False)] ^= True
        states = codes.pack(bits)
        distances.append(table.estimate_many(states)[1].mean())
        hamming = timed(partial(table.estimate_many, states))
        slow = timed(partial(exact.nearest, keys, k))
        fast = timed(partial(inverted.nearest, keys, k))
        turns.append((1e6 * hamming, slow / hamming, fast / hamming))
    microseconds, of_exact, of_inverted = np.median(turns, axis=0).tolist()
    return {
        "states": len(table),
        "flipped_bits": flipped,
        "mean_distance": float(np.mean(distances)),
        "hamming_microseconds": microseconds,
        "times_faster_than_exact": of_exact,
        "times_faster_than_inverted": of_inverted,
    }


def moving(memory: KeyValueMemory, rng: np.random.Generator) -> float:
    """Return how long it takes to move as many keys as a training step of NEC does."""
    rows = rng.choice(len(memory), MOVED, replace=False)
    old = memory.keys(rows)
    new = old + np.float32(0.01) * rng.standard_normal(old.shape, np.float32)
    return median(timed(partial(memory.move, rows, each)) for each in (new, old) * 3)


def main(
    entries: Annotated[tuple[int, ...], tyro.conf.arg(help="sizes of the memory")] = (
        50_000,
        500_000,
    ),
    rounds: Annotated[int, tyro.conf.arg(help="how often each is timed")] = 9,
    task: Annotated[str | None, tyro.conf.arg(help="whose observations; None: random keys")] = None,
    json: Annotated[Path | None, tyro.conf.arg(help="also write the results to this file")] = None,
) -> None:
    console = report_console()
    draw: Draw = partial(places, rng=np.random.default_rng(1))
    if task is not None:
        draw = partial(next_keys, keys_of_walk(task))
    tables = [measured(size, rounds, draw) for size in entries]
    rows, beside = ([row for part in kind for row in part] for kind in zip(*tables, strict=True))
    show(console, f"nearest of keys with {WIDTH} dimensions", rows)
    show(console, "nearest states by Hamming distance, beside them", beside)
    if json is not None:
        report = {"machine": machine("numpy", "faiss-cpu", "numba")}
        write_json(report | {"neighbours": rows, "hamming": beside}, json)


if __name__ == "__main__":
    tyro.cli(main)
