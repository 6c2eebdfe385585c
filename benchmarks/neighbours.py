"""Speed of nearest neighbours, exact ones and those in an inverted file, and how many it finds.

The measure is the one matrix product that no exact search can avoid. All take turns, so that
whatever else the machine does slows all alike; ratios are medians over the rounds. Queries are one,
as for a decision, and eleven, as a third of a minibatch. Keys lie on a curved surface of three
dimensions, as those of places and directions do. Neighbours, lists and probes are those of MFEC
and NEC; centroids are made when the memory has 40 000 entries, and the others are added later.

    python -m benchmarks.neighbours [--json FILE] [--entries 50000 500000] [--rounds 9]
"""

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import numpy as np
import tyro
from numpy.typing import NDArray

from benchmarks.report import machine, report_console, show, write_json
from vast.agents.mfec.config import MFECConfig
from vast.agents.nec.config import NECConfig
from vast.agents.neighbours import Keys, Memory

WIDTH = 64
MOVED = 1600


def places(n: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """Return keys on a surface of three dimensions that bends in all."""
    directions = np.random.default_rng(0).standard_normal((3, WIDTH))
    keys: NDArray[np.float32] = np.sin(rng.random((n, 3)) * 3 @ directions).astype(np.float32)
    return keys


def timed(what: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    what()
    return time.perf_counter() - begin


def measured(entries: int, rounds: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(1)
    keys = places(entries, rng)
    exact = Memory(entries, WIDTH)
    adding = timed(lambda: [exact.add(key, 0.0) for key in keys])
    rows = []
    for config in (MFECConfig(index="inverted"), NECConfig(index="inverted")):
        k, inverted = config.neighbours, Memory(entries, WIDTH, config.inverted)
        for key in keys:
            inverted.add(key, 0.0)
        for count in (1, 11):
            turns = [turn(exact, inverted, keys, places(count, rng), k) for _ in range(rounds)]
            of_product, faster, milliseconds, recall = np.array(turns).T
            rows.append(
                {
                    "entries": entries,
                    "neighbours": k,
                    "queries": count,
                    "exact_ms": float(np.median(milliseconds)),
                    "exact_of_one_product": float(np.median(of_product)),
                    "inverted_times_faster": float(np.median(faster)),
                    "recall": float(np.mean(recall)),
                    "ms_per_move_of_1600": 1000 * moving(inverted, rng),
                    "microseconds_per_add": 1e6 * adding / entries,
                }
            )
    return rows


def turn(
    exact: Memory, inverted: Memory, keys: Keys, queries: Keys, k: int
) -> tuple[float, float, float, float]:
    """Return the time of an exact search in products, in inverted ones and in ms; and recall."""
    product = timed(partial(np.matmul, keys, queries.T))
    slow = timed(partial(exact.nearest, queries, k))
    fast = timed(partial(inverted.nearest, queries, k))
    both = zip(exact.nearest(queries, k).rows, inverted.nearest(queries, k).rows, strict=True)
    recall = float(np.mean([np.isin(wanted, found).mean() for wanted, found in both]))
    return slow / product, slow / fast, 1000 * slow, recall


def moving(memory: Memory, rng: np.random.Generator) -> float:
    """Return how long it takes to move as many keys as a training step of NEC moves, and back."""
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
    json: Annotated[Path | None, tyro.conf.arg(help="also write the numbers to this file")] = None,
) -> None:
    console = report_console()
    rows = [row for size in entries for row in measured(size, rounds)]
    show(console, f"nearest keys of {WIDTH} numbers", rows)
    if json is not None:
        write_json({"machine": machine("numpy", "faiss-cpu"), "neighbours": rows}, json)


if __name__ == "__main__":
    tyro.cli(main)
