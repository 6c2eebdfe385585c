"""Speed of sweeping: backups per second, and the time to plan after a small change."""

import statistics
import time
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from benchmarks.timing import Timed, take_turns
from benchmarks.worlds import (
    DISCOUNT,
    MIN_PRIORITY,
    N_ACTIONS,
    NoisyGrid,
    build,
    build_reference,
)
from vast.planning import ReferenceTable, TransitionTable
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

AHEAD = 4
"""how many states ahead memory is prefetched, as in kernels.py"""


class Wave:
    """A table in which the reward at the goal changes whenever the last change is swept.

    Values that rise spread along the best paths. Values that fall are harder: the best action of a
    state changes on the way, and loops of states keep old values alive for a while.
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
        """Add reward at the goal, or delete what was added."""
        for state, action in self.beside_goal:
            how(state, action, 2.0, None)

    def sweep(self) -> tuple[float, float]:
        """Sweep in one direction within the budget; the way back is not timed."""
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
    """Propagate a change to all predecessors in a given order: a sweep without a queue."""
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
    """Return a run that accesses memory as a sweep does, without a queue."""
    m = table._memory
    states = np.random.default_rng(0).permutation(int(m.meta[SLOTS]))
    states = states[: max(1, min(len(states), budget // 5))]

    def run() -> tuple[float, float]:
        begin = time.perf_counter()
        backups = propagate(m, states, 0.0)
        return backups, time.perf_counter() - begin

    return run


def delete_rate(table: TransitionTable, grid: NoisyGrid) -> float:
    """Return how many transitions per second are deleted, in batches like those of training."""
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
    """Measure sweeping in a table of this size."""
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


# --- after a small change -------------------------------------------------------------------------


def value_iteration(columns: list[NDArray[Any]], v: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the values of the counted model by SciPy, starting from v; build its matrices anew."""
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
        # In order of states, the next transition mostly starts in the same state and ends nearby.
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
