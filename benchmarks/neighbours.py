"""Speed of exact nearest neighbours, against the one matrix product that no exact search can avoid.

Both take turns, so that whatever else the machine does slows both alike; the ratio is the median
over the rounds. Queries are one, as for a decision, and eleven, as a third of a minibatch. Keys lie
on a curved surface of three dimensions, as those of places and directions do.

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
from vast.agents.neighbours import Memory

WIDTH = 64
NEIGHBOURS = 50


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
    memory = Memory(entries, WIDTH)
    adding = timed(lambda: [memory.add(key, 0.0) for key in keys])
    rows = []
    for count in (1, 11):
        ratios, times = [], []
        for _ in range(rounds):
            queries = places(count, rng)
            bare = timed(partial(np.matmul, keys, queries.T))
            times.append(timed(partial(memory.nearest, queries, NEIGHBOURS)))
            ratios.append(times[-1] / bare)
        rows.append(
            {
                "entries": entries,
                "queries": count,
                "milliseconds": 1000 * median(times),
                "of_one_product": median(ratios),
                "microseconds_per_add": 1e6 * adding / entries,
            }
        )
    return rows


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
    show(console, f"{NEIGHBOURS} nearest of {WIDTH} numbers", rows)
    if json is not None:
        write_json({"machine": machine("numpy"), "neighbours": rows}, json)


if __name__ == "__main__":
    tyro.cli(main)
