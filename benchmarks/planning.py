"""Speed of the planning core, as rates and as ratios measured side by side in one run.

    python -m benchmarks.planning [--json FILE] [--sizes 1000 10000 ...] [--repeats 7]

Runs that are compared take turns, and medians are reported, because machines are noisy.
"""

import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import numpy as np
import scipy.sparse
import tyro
from numpy.typing import NDArray

from benchmarks.report import machine, report_console, show, write_json
from benchmarks.worlds import N_ACTIONS, NoisyGrid, keys_of
from vast.planning import BackgroundSweeper, ReferenceTable, TransitionTable
from vast.planning.compiled import Float, Int, kernel, prefetch
from vast.planning.memory import (
    ACTION_SHIFT,
    COUNT_SHIFT,
    LENGTH,
    OFFSET,
    SLOTS,
    STATE_MASK,
    Memory,
)
from vast.planning.table import Queue

DISCOUNT, MIN_PRIORITY = 0.99, 5e-5
"""the paper's"""
AHEAD = 4

Timed = Callable[[], tuple[float, float]]
"""does some work; returns how much, and in how many seconds"""


def take_turns(runs: dict[str, Timed], repeats: int) -> dict[str, float]:
    """Return the median rate of each run, all taking turns; the first turn warms up."""
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


# --- sweeping -------------------------------------------------------------------------------------


class Wave:
    """A table at whose goal the reward changes whenever the last change has been swept.

    Values that rise spread along the best paths. Values that fall are harder: V(s) passes from one
    action to another on the way, and loops of states hold old values up for a while.
    """

    def __init__(
        self,
        table: TransitionTable | ReferenceTable,
        grid: NoisyGrid,
        budget: int,
        direction: Literal["rising", "falling"] = "rising",
    ) -> None:
        self.table = table
        self.budget = budget
        self.beside_goal = grid.beside_goal()
        table.sweep()
        self.before, self.then = table.delete, table.add
        if direction == "falling":
            self.before, self.then = table.add, table.delete
        else:
            self.change(table.add)

    def change(self, how: Callable[[int, int, float, None], None]) -> None:
        """Add to the worth of the goal, or delete what was added."""
        for state, action in self.beside_goal:
            how(state, action, 2.0, None)

    def sweep(self) -> tuple[float, float]:
        """Sweep in one direction within the budget; the way back is not measured."""
        done, seconds = 0, 0.0
        while done < self.budget:
            if self.table.queue_length == 0:
                self.change(self.before)
                self.table.sweep()
                self.change(self.then)
            begin = time.perf_counter()
            done += self.table.sweep(self.budget - done)
            seconds += time.perf_counter() - begin
        return done, seconds


@kernel
def propagate(m: Memory, order: NDArray[np.int64], change: Float) -> Int:
    """Pass a change on to all predecessors in a given order: a sweep without a queue."""
    backups: Int = 0
    for j in range(np.uint64(order.size + 2 * AHEAD)):
        if j < order.size:
            prefetch(m.block, np.uint64(order[j]))
        if AHEAD <= j < order.size + AHEAD:
            t = np.uint64(order[j - AHEAD])
            start = np.uint64(m.block[t, OFFSET])
            for i in range(start, start + np.uint64(m.block[t, LENGTH])):
                prefetch(m.u, np.uint64(m.edge[i]) & np.uint64(STATE_MASK))
        if j >= 2 * AHEAD:
            t = np.uint64(order[j - 2 * AHEAD])
            start = np.uint64(m.block[t, OFFSET])
            length = np.uint64(m.block[t, LENGTH])
            for i in range(start, start + length):
                edge = np.uint64(m.edge[i])
                s = edge & np.uint64(STATE_MASK)
                a = (edge >> np.uint64(ACTION_SHIFT)) & np.uint64(255)
                m.q[s, a] += change * np.float64(edge >> np.uint64(COUNT_SHIFT)) / m.n[s, a]
            backups += np.int64(length)
    return backups


def memory_ceiling(table: TransitionTable, budget: int) -> Timed:
    """Return a run that touches the table's memory as a sweep does, and keeps no queue."""
    m = table._memory
    states = np.random.default_rng(0).permutation(int(m.meta[SLOTS]))
    states = states[: max(1, min(len(states), budget // 5))]

    def run() -> tuple[float, float]:
        begin = time.perf_counter()
        backups = propagate(m, states, 0.0)
        return backups, time.perf_counter() - begin

    return run


def build(grid: NoisyGrid, queue: Queue = "bucketed") -> tuple[TransitionTable, float]:
    """Return a table of the whole grid, and how many transitions per second were added."""
    table = TransitionTable(N_ACTIONS, DISCOUNT, MIN_PRIORITY, queue)
    added, seconds = 0, 0.0
    for columns in grid.all_transitions():
        begin = time.perf_counter()
        table.add_many(*columns)
        seconds += time.perf_counter() - begin
        added += len(columns[0])
    return table, added / seconds


def delete_rate(table: TransitionTable, grid: NoisyGrid) -> float:
    """Return how many transitions per second are deleted, in batches as a minibatch brings them."""
    n = min(200_000, grid.n_states)
    columns = grid.transitions(n)
    table.add_many(*columns)
    order = np.random.default_rng(1).permutation(n)
    seconds = 0.0
    for part in np.array_split(order, max(1, n // 256)):
        batch = tuple(column[part] for column in columns)
        begin = time.perf_counter()
        table.delete_many(*batch)
        seconds += time.perf_counter() - begin
    return n / seconds


def measure_size(n_states: int, repeats: int) -> dict[str, float]:
    """Measure everything about sweeping at one size."""
    grid = NoisyGrid(n_states)
    table, adds = build(grid)
    states = len(table)
    result = {"states": float(states), "adds_per_second": adds}
    result["deletes_per_second"] = delete_rate(table, grid)
    result["bytes_per_state"] = table.nbytes / states
    result["edges_per_state"] = len(table.transitions().states) / states
    budget = 2_000_000
    runs: dict[str, Timed] = {
        "rising": Wave(table, grid, budget).sweep,
        "ceiling": memory_ceiling(table, budget),
    }
    if n_states <= 1_000_000:
        runs["falling"] = Wave(build(grid)[0], grid, budget, "falling").sweep
        runs["exact"] = Wave(build(grid, "exact")[0], grid, budget).sweep
    if n_states <= 10_000:
        runs["oracle"] = Wave(build_reference(grid), grid, 50_000).sweep
        runs["oracle falling"] = Wave(build_reference(grid), grid, 50_000, "falling").sweep
    rates = take_turns(runs, repeats)
    result["backups_per_second"] = rates["rising"]
    result["ratio_to_memory_ceiling"] = rates["rising"] / rates["ceiling"]
    if "falling" in rates:
        result["when_falling"] = rates["falling"]
        result["ratio_to_exact_queue"] = rates["rising"] / rates["exact"]
    if "oracle" in rates:
        result["ratio_to_oracle"] = rates["rising"] / rates["oracle"]
        result["ratio_when_falling"] = rates["falling"] / rates["oracle falling"]
    return result


def build_reference(grid: NoisyGrid) -> ReferenceTable:
    """Return the plain-Python table of the whole grid."""
    reference = ReferenceTable(N_ACTIONS, DISCOUNT, MIN_PRIORITY)
    for columns in grid.all_transitions():
        for state, action, reward, after, end in zip(*(c.tolist() for c in columns), strict=True):
            reference.add(state, action, reward, None if end else after)
    return reference


# --- after a small change -------------------------------------------------------------------------


def value_iteration(columns: list[NDArray[Any]], v: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the values of the counted model by scipy, starting from v; rebuilds the matrices."""
    states, actions, rewards, after, ends = columns
    new: NDArray[np.float64]
    keys, index = np.unique(np.concatenate([states, after]), return_inverse=True)
    pair = index[: len(states)] * N_ACTIONS + actions
    n = np.bincount(pair, minlength=len(keys) * N_ACTIONS)
    go_on = ~ends
    counts = scipy.sparse.csr_matrix(
        (np.ones(go_on.sum()), (pair[go_on], index[len(states) :][go_on])),
        shape=(len(n), len(keys)),
    )
    follow = scipy.sparse.diags(DISCOUNT / np.maximum(n, 1)) @ counts
    mean = np.bincount(pair, rewards, minlength=len(n)) / np.maximum(n, 1)
    never = np.where(n > 0, 0.0, -np.inf)
    v = v if len(v) == len(keys) else np.zeros(len(keys))
    while True:
        new = (mean + follow @ v + never).reshape(-1, N_ACTIONS).max(axis=1)
        new[new == -np.inf] = 0.0
        if np.abs(new - v).max() <= MIN_PRIORITY:
            return new
        v = new


def small_change(n_states: int, repeats: int) -> dict[str, float]:
    """Compare sweeping with value iteration after 128 transitions were reassigned."""
    grid = NoisyGrid(n_states)
    table = TransitionTable(N_ACTIONS, DISCOUNT, MIN_PRIORITY)
    parts = list(grid.all_transitions())
    columns = [np.concatenate([part[i] for part in parts]) for i in range(5)]
    columns = [column[np.argsort(columns[0])] for column in columns]
    table.add_many(*columns)
    table.sweep()
    v = value_iteration(columns, np.zeros(0))
    rng = np.random.default_rng(2)
    sweeping, iterating = [], []
    for _ in range(repeats):
        moved = rng.permutation(len(columns[0]) - 1)[:128]
        old = [column[moved] for column in columns]
        # Sorted by state, the next transition mostly starts in the same state and ends nearby.
        columns[3][moved] = columns[3][moved + 1]
        new = [column[moved] for column in columns]
        begin = time.perf_counter()
        table.delete_many(*old)
        table.add_many(*new)
        table.sweep()
        sweeping.append(time.perf_counter() - begin)
        begin = time.perf_counter()
        v = value_iteration(columns, v)
        iterating.append(time.perf_counter() - begin)
    swept, iterated = statistics.median(sweeping), statistics.median(iterating)
    return {
        "states": float(len(table)),
        "sweeping_ms": swept * 1e3,
        "value_iteration_ms": iterated * 1e3,
        "ratio": iterated / swept,
    }


# --- lookups --------------------------------------------------------------------------------------


def look_up(table: TransitionTable, queries: list[int], i: int) -> None:
    """Ask for one neighbour estimate."""
    table.estimate(queries[i])


def search(
    keys: NDArray[np.uint64], q: NDArray[np.float64], queries: list[int], i: int
) -> NDArray[np.float64]:
    """Find the nearest keys and average their values in NumPy; every action known everywhere."""
    far = np.bitwise_count(keys ^ np.uint64(queries[i]))
    nearest: NDArray[np.float64] = q[far == far.min()].mean(axis=0)
    return nearest


def lookups(n_states: int) -> list[dict[str, float]]:
    """Measure the neighbour estimate by distance, against a vectorised NumPy search."""
    rng = np.random.default_rng(3)
    table = TransitionTable(N_ACTIONS, DISCOUNT, MIN_PRIORITY)
    # Codes of 64 bits that lie near each other, as an encoder's do: flips of a few centres.
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
    """Measure lookups and adds of a busy main thread while a sweeper runs beside it."""
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
    """Measure what one step of an agent costs: look up, add, and plan up to 2000 backups."""
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


# --- the whole run --------------------------------------------------------------------------------


def warm_up() -> None:
    """Have everything compiled before anything is measured."""
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
        json_file: write all numbers there, too
        sizes: numbers of states
        repeats: turns that each of the runs compared takes
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
