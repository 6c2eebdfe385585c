"""How many backups planning needs: prioritized sweeping, Dyna-Q, value iteration, on one table.

Counted until every Q(s, a) is within a tolerance of value iteration's solution; one backup is one
update of one Q(s, a). Dyna-Q (Sutton 1990) backs up pairs drawn at random from those experienced.
It is given its best case: the expected outcome of a pair instead of one drawn from its outcomes, so
that it converges exactly. Such a backup reads all successors of a pair, a small backup only one.

    python -m vast.experiments.dyna [--tolerance 0.001] [--seeds 10] [--run DIR] [--json FILE]
"""

import json as json_format
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean
from typing import Annotated

import gymnasium
import numpy as np
import tyro
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from scipy.sparse import csr_array

from vast.checks import positive
from vast.errors import UserError
from vast.experiments.run_directory import processor
from vast.experiments.tables import load_table
from vast.experiments.two_episodes import keys, rounded
from vast.files import atomic_write
from vast.planning import TransitionTable, log_sweep

Floats = NDArray[np.float64]

DISCOUNT = 0.99
FINE = 1e-7
"""min_priority of the tables compared"""
PRECISE = 1e-6
"""the error of the solution, as a share of the tolerance"""


@dataclass(frozen=True)
class CountedModel:
    """The model that a table's counts define; P pairs (s, a) in the order of their states."""

    pairs: list[tuple[int, int]]
    rewards: Floats
    """[P] E[r|s,a]"""
    follow: csr_array
    """[P, S] the discount times the probability of each next state"""
    starts: NDArray[np.int64]
    """[S] the first pair of each state"""
    q: Floats
    """[P] Q(s, a) as the table has it"""

    def values(self, q: Floats) -> Floats:
        """Return V of each state."""
        best: Floats = np.maximum.reduceat(q, self.starts)
        return best

    def backed_up(self, q: Floats) -> Floats:
        """Return all Q(s, a), backed up from the old ones at once."""
        new: Floats = self.rewards + self.follow @ self.values(q)
        return new


@dataclass(frozen=True)
class Count:
    """What planning took until the tolerance was reached."""

    backups: int
    successors: int
    """values of next states that these backups read; a small backup reads one"""


@dataclass(frozen=True)
class Comparison:
    """What each way of planning took."""

    pairs: int
    """how many Q(s, a) there are"""
    sweeping: Count
    dyna: list[Count]
    """one per seed"""
    value_iteration: Count
    """with all pairs in each of its iterations"""


def compare(table: TransitionTable, tolerance: float, seeds: Sequence[int]) -> Comparison:
    """Plan from the table's present values, whatever is pending; the table is not changed."""
    positive(tolerance=tolerance)
    most = tolerance * (1 - table.discount)
    if table.min_priority > most:
        raise UserError(
            f"the table's min_priority must be at most {most:g} for tolerance {tolerance:g}, "
            f"got {table.min_priority:g}"
        )
    if len(table) == 0:
        raise UserError("the table must hold at least one transition")
    model = counted_model(table)
    solution = solve(model, PRECISE * tolerance)
    iterations = 0
    q = model.q
    while np.abs(q - solution).max(initial=0.0) > tolerance:
        q = model.backed_up(q)
        iterations += 1
    return Comparison(
        pairs=len(model.pairs),
        sweeping=sweep(table, model, solution, tolerance),
        dyna=[dyna(model, solution, tolerance, seed) for seed in seeds],
        value_iteration=Count(iterations * len(model.pairs), iterations * model.follow.nnz),
    )


def counted_model(table: TransitionTable) -> CountedModel:
    """Return the model of a table."""
    found = table.transitions()
    states = np.unique(found.states)
    rows = np.searchsorted(states, found.states)
    numbers, of = np.unique(rows * table.n_actions + found.actions, return_inverse=True)
    pairs = [(int(states[n // table.n_actions]), int(n % table.n_actions)) for n in numbers]
    n_taken = np.bincount(of, found.counts)
    share = table.discount * found.counts / n_taken[of]
    # Where no action was taken, V is 0.
    goes_on = ~found.terminals & np.isin(found.next_states, states)
    to = np.searchsorted(states, found.next_states[goes_on])
    shape = (len(pairs), len(states))
    return CountedModel(
        pairs=pairs,
        rewards=np.array([table.mean_reward(*pair) for pair in pairs]),
        follow=csr_array((share[goes_on], (of[goes_on], to)), shape),
        starts=np.searchsorted(numbers // table.n_actions, np.arange(len(states))),
        q=np.array([table.q(state)[action] for state, action in pairs]),
    )


def solve(model: CountedModel, error: float) -> Floats:
    """Return value iteration's solution, to within this error."""
    q = model.q
    discount = model.follow.sum(axis=1).max(initial=0.0)
    while True:
        new = model.backed_up(q)
        # A contraction: what is still to come is at most this multiple of the last change.
        if np.abs(new - q).max(initial=0.0) * discount <= error * (1 - discount):
            return new
        q = new


def sweep(table: TransitionTable, model: CountedModel, solution: Floats, tolerance: float) -> Count:
    """Plan by prioritized sweeping, with the exact queue."""
    log = log_sweep(table)
    number = {pair: i for i, pair in enumerate(model.pairs)}
    b = log.backups
    of = [number[pair] for pair in zip(b.states.tolist(), b.actions.tolist(), strict=True)]
    wanted = solution[np.array(of, np.int64)]
    outside = np.count_nonzero(np.abs(model.q - solution) > tolerance)
    left = (np.abs(b.q_before - wanted) > tolerance).astype(np.int64)
    still = (np.abs(b.q_after - wanted) > tolerance).astype(np.int64)
    remaining = np.append(outside, outside + np.cumsum(still - left))
    done = int(np.flatnonzero(remaining == 0)[0])
    return Count(done, done)


def dyna(model: CountedModel, solution: Floats, tolerance: float, seed: int) -> Count:
    """Plan by Dyna-Q: one random pair after the other."""
    rng = np.random.default_rng(seed)
    q, rewards, wanted = model.q.tolist(), model.rewards.tolist(), solution.tolist()
    outside = sum(abs(a - b) > tolerance for a, b in zip(q, wanted, strict=True))
    ends = [*model.starts[1:].tolist(), len(q)]
    spans = list(zip(model.starts.tolist(), ends, strict=True))
    values = model.values(model.q).tolist()
    states = np.repeat(np.arange(len(spans)), [end - start for start, end in spans]).tolist()
    of, to, share = (
        model.follow.indptr.tolist(),
        model.follow.indices.tolist(),
        model.follow.data.tolist(),
    )
    done = read = 0
    while outside > 0:
        for i in rng.integers(len(q), size=1024).tolist():
            new = rewards[i]
            for edge in range(of[i], of[i + 1]):
                new += share[edge] * values[to[edge]]
            outside += (abs(new - wanted[i]) > tolerance) - (abs(q[i] - wanted[i]) > tolerance)
            q[i] = new
            start, end = spans[states[i]]
            values[states[i]] = max(q[start:end])
            done += 1
            read += of[i + 1] - of[i]
            if outside == 0:
                break
    return Count(done, read)


# --- tables ---------------------------------------------------------------------------------------


def grid(size: int = 20) -> TransitionTable:
    """Return the table of an open square, every action taken once; a corner is the goal."""
    table = TransitionTable(4, DISCOUNT, FINE)
    for place in range(size * size - 1):
        for action, (dx, dy) in enumerate(((1, 0), (0, 1), (-1, 0), (0, -1))):
            x, y = np.clip((place // size + dx, place % size + dy), 0, size - 1).tolist()
            goal = x == y == size - 1
            table.add(place, action, float(goal), None if goal else x * size + y)
    return table


def t_maze_walk(steps: int = 20_000, seed: int = 0) -> TransitionTable:
    """Return the table of a random walk in the continuous T-maze, with rounded coordinates."""
    rng = np.random.default_rng(seed)
    env = gymnasium.make("vast/TMaze2D-v0")
    table = TransitionTable(4, DISCOUNT, FINE)
    observation, _ = env.reset(seed=seed)
    for action in rng.integers(4, size=steps):
        state = _cell(observation)
        observation, reward, terminated, _, _ = env.step(action)
        table.add(state, int(action), float(reward), None if terminated else _cell(observation))
        if terminated:
            observation, _ = env.reset()
    return table


def from_scratch(table: TransitionTable) -> TransitionTable:
    """Return a table with the same counts and mean rewards, in which nothing was planned."""
    found = table.transitions()
    rewards = [
        table.mean_reward(*pair)
        for pair in zip(found.states.tolist(), found.actions.tolist(), strict=True)
    ]
    new = TransitionTable(table.n_actions, table.discount, FINE)
    columns = (found.states, found.actions, np.array(rewards), found.next_states, found.terminals)
    new.add_many(*(np.repeat(column, found.counts) for column in columns))
    return new


def with_new_goal(table: TransitionTable) -> TransitionTable:
    """Return a planned copy with one more transition: the state of lowest value is a goal once."""
    copy = TransitionTable.from_state_dict(table.state_dict())
    copy.sweep()
    state = min(copy.states().tolist(), key=lambda s: (copy.value(s), s))
    copy.add(state, int(np.nanargmax(copy.q(state))), 1.0, None)
    return copy


def _cell(observation: NDArray[np.float32]) -> int:
    return int(keys(rounded(np.asarray(observation, np.float64)[None]))[0])


def main(
    tolerance: Annotated[float, tyro.conf.arg(help="largest error of a Q(s, a)")] = 1e-3,
    seeds: Annotated[int, tyro.conf.arg(help="how many seeds Dyna-Q is run with")] = 10,
    run: Annotated[Path | None, tyro.conf.arg(help="also plan in the table of this run")] = None,
    json: Annotated[Path | None, tyro.conf.arg(help="also write the results to this file")] = None,
) -> None:
    """Count the backups of planning from scratch, and after one more transition."""
    tables = {"grid, 20 x 20": grid(), "T-maze, random walk": t_maze_walk()}
    if run is not None:
        tables[run.name] = from_scratch(load_table(run))
    found = {
        (name, task): compare(start, tolerance, range(seeds))
        for name, table in tables.items()
        for task, start in (("from scratch", table), ("one new goal", with_new_goal(table)))
    }
    shown = Table("table", "task", title=f"backups until all Q(s, a) are within {tolerance:g}")
    for column in ("pairs", "sweeping", "Dyna-Q", "times", "successors read, times"):
        shown.add_column(column, justify="right")
    shown.add_column("value iteration", justify="right")
    for names, counts in found.items():
        shown.add_row(*names, *_cells(counts))
    console = Console(width=None if sys.stdout.isatty() else 140)
    console.print(shown)
    console.print(f"Dyna-Q: mean and range of {seeds} seeds; {processor()}")
    if json is not None:
        rows = [{"table": name, "task": task} | asdict(c) for (name, task), c in found.items()]
        report = {"processor": processor(), "tolerance": tolerance, "rows": rows}
        with atomic_write(json) as unfinished:
            unfinished.write_text(json_format.dumps(report, indent=1) + "\n")


def _cells(counts: Comparison) -> list[str]:
    backups = [count.backups for count in counts.dyna]
    swept = max(counts.sweeping.backups, 1)
    return [
        f"{counts.pairs:,}",
        f"{counts.sweeping.backups:,}",
        f"{mean(backups):,.0f} ({min(backups):,} to {max(backups):,})",
        f"{mean(backups) / swept:.1f}",
        f"{mean(count.successors for count in counts.dyna) / swept:.1f}",
        f"{counts.value_iteration.backups:,}",
    ]


if __name__ == "__main__":
    tyro.cli(main)
