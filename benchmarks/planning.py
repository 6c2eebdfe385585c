"""Speed of the planning core, as rates, and as ratios measured in one run.

    python -m benchmarks.planning [--json FILE] [--sizes 1000 10000 ...] [--repeats 7]

What is compared takes turns, and results are medians, because timings are noisy.
"""

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any, get_args

import tyro

from benchmarks.calls import hub, in_the_background, inline_step, lookups
from benchmarks.report import machine, report_console, show, write_json
from benchmarks.sweeping import measure_size, small_change
from benchmarks.worlds import NoisyGrid, build
from vast.planning.table import Queue


def warm_up() -> None:
    """Compile everything before it is measured."""
    for queue in get_args(Queue):
        table, _ = build(NoisyGrid(100), queue)
        table.sweep()
        table.estimate_many(table.states())
        table.delete_many(*(column[:0] for column in NoisyGrid(100).transitions(1)))


def main(
    json_file: Annotated[Path | None, tyro.conf.arg(name="json")] = None,
    sizes: tuple[int, ...] = (1_000, 10_000, 100_000, 1_000_000, 10_000_000),
    repeats: int = 7,
) -> None:
    """Measure the planning core.

    Args:
        json_file: also write the results to this file
        sizes: numbers of states
        repeats: turns that each takes
    """
    console = report_console()
    report: dict[str, Any] = {"machine": machine("numpy", "numba", "scipy")}
    console.print(report["machine"])
    middling = [n for n in sizes if 10_000 <= n <= 1_000_000]
    sections: list[tuple[str, str, list[Callable[[], Any]]]] = [
        ("sweeping", "sweeping", [partial(measure_size, n, repeats) for n in sizes]),
        (
            "small_change",
            "128 transitions reassigned: sweeping against scipy value iteration",
            [partial(small_change, n, repeats) for n in middling if n <= 100_000],
        ),
        ("lookups", "neighbour estimate, one call", [partial(lookups, n) for n in middling]),
        (
            "background",
            "a busy main thread while sweeping in the background",
            [partial(in_the_background, n, 5.0) for n in middling if n <= 100_000],
        ),
        (
            "inline",
            "one step of an agent: look up, add, up to 2000 backups",
            [partial(inline_step, n) for n in middling],
        ),
        ("hub", "one state with very many predecessors", [hub]),
    ]
    begin = time.perf_counter()
    warm_up()
    for name, title, measurements in sections:
        rows: list[dict[str, float]] = []
        for measure in measurements:
            measured = measure()
            rows += measured if isinstance(measured, list) else [measured]
        report[name] = rows
        show(console, title, rows)
    report["seconds"] = time.perf_counter() - begin
    if json_file is not None:
        write_json(report, json_file)
        console.print(f"wrote {json_file}")


if __name__ == "__main__":
    tyro.cli(main)
