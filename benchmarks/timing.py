"""How the benchmarks measure time: rates of runs that take turns, and single calls."""

import statistics
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Timed = Callable[[], tuple[float, float]]
"""does some work; returns how much, and how many seconds it took"""


def take_turns(runs: dict[str, Timed], repeats: int) -> dict[str, float]:
    """Return the median rate of each run, all taking turns after a warm-up."""
    rates: dict[str, list[float]] = {name: [] for name in runs}
    for turn in range(repeats + 1):
        for name, run in runs.items():
            work, seconds = run()
            if turn > 0:
                rates[name].append(work / seconds)
    return {name: statistics.median(values) for name, values in rates.items()}


def microseconds(call: Callable[[int], object], n: int) -> NDArray[np.float64]:
    """Return how long each of n calls took."""
    times = np.empty(n)
    for i in range(n):
        begin = time.perf_counter()
        call(i)
        times[i] = time.perf_counter() - begin
    return times * 1e6
