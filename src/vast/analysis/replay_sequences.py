"""Forward and reverse sequences in an ordered list of backups, as research on replay counts them.

Two consecutive backups are a forward pair if the second starts where the first ends, as in
behaviour, and a reverse pair if it ends where the first starts. A sequence is a run of pairs of one
direction (Mattar & Daw 2018, Nature Neuroscience 21, 1609-1617). The chance level is that of the
same backups in random order.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from vast.analysis.states import find_rows
from vast.checks import at_least
from vast.errors import unknown
from vast.planning import SweepLog, TransitionTable
from vast.planning.arguments import as_keys

Successor = Literal["popped", "most frequent", "any"]
Direction = Literal["forward", "reverse"]

NEITHER, FORWARD, REVERSE, BOTH = range(4)
"""the direction of a pair. There and back again is both: it tells no direction"""
LEAST = 5
"""backups in a sequence; Mattar & Daw"""
SHUFFLES = 500


@dataclass(frozen=True)
class OrderedBackups:
    """Backups in the order in which they happened, by where they start and end."""

    starts: NDArray[np.int64]
    """[n] the state s in which each starts, as a number from 0"""
    ends: NDArray[np.int64]
    """[n] the state s' in which it ends; -1 if no backup starts there"""
    edges: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None
    """if any successor counts: [n] a number for (s, a), to which that of the successor is added,
    and the sorted sums of all transitions"""

    def __len__(self) -> int:
        return len(self.starts)

    def leads(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Tell whether backups `first` end where backups `second` start."""
        if self.edges is None:
            same: NDArray[np.bool_] = self.ends[first] == self.starts[second]
            return same
        pairs, edges = self.edges
        return np.isin(pairs[first] + self.starts[second], edges)


class Sequence(NamedTuple):
    """A run of backups in one direction."""

    first: int
    """the number of its first backup"""
    length: int
    """how many backups it has, the last one included"""
    direction: Direction


class Counts(NamedTuple):
    """How many pairs and sequences an order of backups has, by direction."""

    forward: int
    reverse: int
    both: int
    forward_sequences: int
    reverse_sequences: int
    longest_forward: int
    longest_reverse: int


@dataclass(frozen=True)
class ReplayStatistics:
    """The pairs and sequences of an order of backups, and of the same backups shuffled."""

    n_pairs: int
    counts: Counts
    sequences: list[Sequence]
    shuffled: NDArray[np.int64]
    """[shuffles, 7] the same counts of each shuffled order"""

    def share(self, direction: Direction) -> float:
        """Return the share of pairs that have this direction; nan if there are no pairs."""
        return getattr(self.counts, direction) / self.n_pairs if self.n_pairs else math.nan

    def chance(self, direction: Direction) -> float:
        """Return the mean of that share over the shuffled orders."""
        counts = self.shuffled[:, Counts._fields.index(direction)]
        return float(counts.mean()) / self.n_pairs if self.n_pairs else math.nan

    def p_value(self, count: str) -> float:
        """Return how probable it is by chance that one of `counts` is as large or larger."""
        if count not in Counts._fields:
            raise unknown("count", count, Counts._fields)
        shuffled = self.shuffled[:, Counts._fields.index(count)]
        reached = np.count_nonzero(shuffled >= getattr(self.counts, count))
        return float((1 + reached) / (1 + len(shuffled)))

    def summary(self) -> dict[str, float]:
        """Return all numbers by name."""
        found: dict[str, float] = {"pairs": self.n_pairs, **self.counts._asdict()}
        for direction in get_args(Direction):
            found[f"{direction}_share"] = self.share(direction)
            found[f"{direction}_share_by_chance"] = self.chance(direction)
            found[f"p_{direction}"] = self.p_value(direction)
            found[f"p_{direction}_sequences"] = self.p_value(f"{direction}_sequences")
        return found


# --- which backups, and where they end ------------------------------------------------------------


def ordered(backups: Iterable[tuple[int, int, int | None]]) -> OrderedBackups:
    """Return backups given as (state, action, next state), in order; None: the episode ends."""
    rows = list(backups)
    starts = as_keys([state for state, _, _ in rows])
    ends = as_keys([0 if end is None else end for _, _, end in rows])
    known = np.unique(starts)
    over = np.array([end is None for _, _, end in rows], np.bool_)
    return OrderedBackups(find_rows(known, starts), np.where(over, -1, find_rows(known, ends)))


def backups_of(
    log: SweepLog, successor: Successor = "popped", min_change: float | None = 0.0
) -> OrderedBackups:
    """Return the backups of a logged sweep that changed V(s) by more than `min_change`.

    None keeps all of them, also those of actions that are not the best and change no policy. A pair
    (s, a) may have several successors. Its backup ends in the `successor`:

    - "popped": the state whose change caused the backup;
    - "most frequent": the one with the highest count, of equal ones that with the smallest key;
    - "any": all of them, so that two backups are a pair if one of the successors fits.
    """
    if successor not in get_args(Successor):
        raise unknown("successor", successor, get_args(Successor))
    kept = slice(None) if min_change is None else np.abs(log.v_change) > min_change
    states, actions = log.backups.states[kept], log.backups.actions[kept]
    known = np.unique(states)
    starts = find_rows(known, states)
    if successor == "popped":
        return OrderedBackups(starts, find_rows(known, log.popped[kept]))
    table = log.table_after()
    of_pairs = starts * table.n_actions + actions
    pairs, ends = _edges(known, table)
    # The first edge of a pair is its most frequent one.
    each, first = np.unique(pairs, return_index=True)
    likely = ends[first][np.searchsorted(each, of_pairs)]
    if successor == "most frequent":
        return OrderedBackups(starts, likely)
    sums = np.unique((pairs * len(known) + ends)[ends >= 0])
    return OrderedBackups(starts, likely, (of_pairs * len(known), sums))


def _edges(
    known: NDArray[np.uint64], table: TransitionTable
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return (s, a) and s' of all transitions from known states, the most frequent first."""
    found = table.transitions()
    starts = find_rows(known, found.states)
    pairs = starts * table.n_actions + found.actions
    ends = np.where(found.terminals, -1, find_rows(known, found.next_states))
    order = np.lexsort((found.next_states, found.terminals, -found.counts, pairs))
    order = order[starts[order] >= 0]
    return pairs[order], ends[order]


# --- pairs and sequences --------------------------------------------------------------------------


def directions(backups: OrderedBackups, order: NDArray[np.int64] | None = None) -> NDArray[np.int8]:
    """Return the direction of each pair of consecutive backups, in this order or as they are."""
    order = np.arange(len(backups)) if order is None else order
    first, second = order[:-1], order[1:]
    forward, reverse = backups.leads(first, second), backups.leads(second, first)
    return (FORWARD * forward + REVERSE * reverse).astype(np.int8)


def sequences(backups: OrderedBackups, least: int = LEAST) -> list[Sequence]:
    """Return the longest runs of one direction that have at least this many backups.

    A backup at which the direction turns is the end of one sequence and the start of the next.
    """
    at_least(2, least=least)
    pairs = directions(backups)
    numbers: dict[Direction, int] = {"forward": FORWARD, "reverse": REVERSE}
    return sorted(
        Sequence(int(first), int(length), direction)
        for direction, number in numbers.items()
        for first, length in zip(*_runs(pairs == number, least), strict=True)
    )


def statistics(
    backups: OrderedBackups,
    rng: np.random.Generator,
    least: int = LEAST,
    shuffles: int = SHUFFLES,
) -> ReplayStatistics:
    """Return the pairs and sequences, and those of this many random orders of the same backups."""
    at_least(1, shuffles=shuffles)
    found = sequences(backups, least)
    by_chance = [
        _count(directions(backups, rng.permutation(len(backups))), least) for _ in range(shuffles)
    ]
    return ReplayStatistics(
        n_pairs=max(len(backups) - 1, 0),
        counts=_count(directions(backups), least),
        sequences=found,
        shuffled=np.array(by_chance),
    )


def sequence_p_value(
    backups: OrderedBackups,
    sequence: Sequence,
    rng: np.random.Generator,
    shuffles: int = SHUFFLES,
) -> float:
    """Return how probable it is that the backups of a sequence, shuffled, are as directed.

    The test of Mattar & Daw: the score is the share of forward minus that of reverse pairs.
    """
    at_least(1, shuffles=shuffles)
    span = np.arange(sequence.first, sequence.first + sequence.length)

    def score(order: NDArray[np.int64]) -> int:
        kinds = np.bincount(directions(backups, order), minlength=4)
        return abs(int(kinds[FORWARD] - kinds[REVERSE]))

    reached = sum(score(rng.permutation(span)) >= score(span) for _ in range(shuffles))
    return (1 + reached) / (1 + shuffles)


def _runs(hits: NDArray[np.bool_], least: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where runs of hits begin, and how many backups each has, if at least this many."""
    edges = np.diff(np.concatenate([[0], hits.astype(np.int8), [0]]))
    begin, end = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    long = end - begin + 1 >= least
    return begin[long], (end - begin + 1)[long]


def _count(pairs: NDArray[np.int8], least: int) -> Counts:
    """Return the counts of the directions of all pairs."""
    _, forward = _runs(pairs == FORWARD, least)
    _, reverse = _runs(pairs == REVERSE, least)
    kinds = np.bincount(pairs, minlength=4).tolist()
    return Counts(
        forward=kinds[FORWARD],
        reverse=kinds[REVERSE],
        both=kinds[BOTH],
        forward_sequences=len(forward),
        reverse_sequences=len(reverse),
        longest_forward=int(forward.max(initial=0)),
        longest_reverse=int(reverse.max(initial=0)),
    )
