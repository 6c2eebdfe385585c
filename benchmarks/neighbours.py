"""Speed of nearest neighbours, exact ones and those in an inverted file, and how many it finds.

The measure is the one matrix product that no exact search can avoid. All take turns, so that
whatever else the machine does slows all alike; ratios are medians over the rounds. Queries are one,
as for a decision, and eleven, as a third of a minibatch. Keys lie near a curved surface of three
dimensions, as those of places and directions do; with `--task`, they are MFEC's keys of a random
walk in that task, among which the inverted file has a harder time. Neighbours, lists and probes
are those of MFEC and NEC; centroids are made when the memory has 40 000 entries, and the others
are added later.

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
from benchmarks.report import machine, report_console, show, write_json
from vast.agents.mfec.config import MFECConfig
from vast.agents.nec.config import NECConfig
from vast.agents.neighbours import Keys, Memory
from vast.agents.projection import Projection
from vast.agents.registry import KINDS
from vast.envs.tasks import make_env
from vast.replay.shrinking import Shrinking

Draw = Callable[[int], Keys]

WIDTH = 64
OFF = 0.05
"""how far keys are off the surface in each of their numbers, which are between -1 and 1"""
ASKED = 500
"""queries by which recall is measured"""
MOVED = 1600
"""keys, as a training step of NEC moves at most: 32 times 50"""


def places(n: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """Return keys near a surface of three dimensions that bends in all."""
    directions = np.random.default_rng(0).standard_normal((3, WIDTH))
    keys: NDArray[np.float32] = np.sin(rng.random((n, 3)) * 3 @ directions).astype(np.float32)
    keys += np.float32(OFF) * rng.standard_normal(keys.shape, np.float32)
    return keys


def timed(what: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    what()
    return time.perf_counter() - begin


def walk(task: str) -> Iterator[NDArray[np.float32]]:
    """Yield the keys of a random walk, as MFEC's preset `paper` has them."""
    env, rng = make_env(task), np.random.default_rng(0)
    seen = env.reset(seed=0)[0]
    config = KINDS["mfec"].preset("paper", task, seen.shape)
    small = Shrinking(seen.shape, config.resize)
    project = Projection(small(seen).shape, 0, WIDTH, 0.0, np.random.SeedSequence(0))
    while True:
        yield project(small(seen)[None])
        seen, _, terminated, truncated, _ = env.step(np.int64(rng.integers(3)))
        if terminated or truncated:
            seen = env.reset()[0]


def walked(keys: Iterator[Keys], n: int) -> Keys:
    """Go on by n steps."""
    return np.stack(list(islice(keys, n)))


def measured(entries: int, rounds: int, draw: Draw) -> list[dict[str, Any]]:
    rng = np.random.default_rng(1)
    keys = draw(entries)
    asked = draw(ASKED)
    exact = Memory(entries, WIDTH)
    adding = timed(lambda: [exact.add(key, 0.0) for key in keys])
    rows = []
    for config in (MFECConfig(index="inverted"), NECConfig(index="inverted")):
        k, inverted = config.neighbours, Memory(entries, WIDTH, config.inverted)
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
    return rows


def turn(
    exact: Memory, inverted: Memory, keys: Keys, queries: Keys, k: int
) -> tuple[float, float, float]:
    """Return the time of an exact search in products, in inverted ones and in ms."""
    product = timed(partial(np.matmul, keys, queries.T))
    slow = timed(partial(exact.nearest, queries, k))
    fast = timed(partial(inverted.nearest, queries, k))
    return slow / product, slow / fast, 1000 * slow


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
    task: Annotated[str | None, tyro.conf.arg(help="where keys come from; None: drawn")] = None,
    json: Annotated[Path | None, tyro.conf.arg(help="also write the numbers to this file")] = None,
) -> None:
    console = report_console()
    draw: Draw = partial(places, rng=np.random.default_rng(1))
    if task is not None:
        draw = partial(walked, walk(task))
    rows = [row for size in entries for row in measured(size, rounds, draw)]
    show(console, f"nearest keys of {WIDTH} numbers", rows)
    if json is not None:
        write_json({"machine": machine("numpy", "faiss-cpu"), "neighbours": rows}, json)


if __name__ == "__main__":
    tyro.cli(main)
