"""A what-if: a private copy of a table, a list of edits, and the sweep that follows each of them.

The copy has the exact queue: its backups do not depend on the slices in which it is swept. So a
list of edits gives the same values to the last bit whenever it is repeated: by undo and redo, or by
a colleague who opens the same view. Snapshots only save the time of planning again.
"""

import time
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vast.analysis.what_ifs import greedy_path
from vast.errors import UserError
from vast.explorer.edits import Edit
from vast.explorer.places import Places
from vast.planning import Pairs, TransitionTable
from vast.planning.table_state import with_exact_queue

Values = NDArray[np.float64]
Rows = NDArray[np.int64]

MAX_EDITS = 100
FIRST_SLICE, GROWTH = 24, 1.25
"""backups of the first slice of a visible sweep, and how much longer each next one is: a thousand
backups are seen in 11 pictures, ten million in 52"""
AT_ONCE = 1_000_000
"""backups of a slice that is not meant to be seen; some tenths of a second"""
SNAPSHOT_BYTES = 400_000_000
"""of all snapshots together; the oldest are dropped"""


class Progress(NamedTuple):
    """How far the planning after the last edit has come."""

    backups: int
    seconds: float
    """spent on them"""
    queued: int
    """states left in the queue"""


class Snapshot(NamedTuple):
    """A settled table after some edits."""

    edits: list[Edit]
    state: dict[str, Any]
    """as `TransitionTable.state_dict` returns it"""
    progress: Progress
    """of the planning after the last edit"""

    @property
    def nbytes(self) -> int:
        """Return the size of its arrays."""
        return sum(each.nbytes for each in self.state.values() if isinstance(each, np.ndarray))


def _same(one: list[Edit], other: list[Edit]) -> bool:
    """Tell whether these are the very same edits."""
    return len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))


class Path(NamedTuple):
    """Where always taking the best known action leads."""

    rows: list[int]
    end: str
    """terminal, loop, or open: nothing is known to follow"""


class WhatIf:
    """The table as it would be after some edits; the one that it was made from never changes."""

    def __init__(self, learned: TransitionTable, places: Places) -> None:
        self.learned = learned
        self.places = places
        self.edits: list[Edit] = []
        self.undone: list[Edit] = []
        self.table = exact_copy(learned)
        self._snapshots: list[Snapshot] = []
        self._rows: Rows | None = None
        self._slices = slices()
        self._done = Progress(0, 0.0, self.table.queue_length)

    # --- edits ------------------------------------------------------------------------------------

    def do(self, edit: Edit) -> None:
        """Apply an edit; `sweep` then plans. UserError, and nothing changed, if it is no change."""
        if len(self.edits) >= MAX_EDITS:
            raise UserError(f"a what-if must have at most {MAX_EDITS} edits: undo or reset some")
        self.finish()
        self.table = edit.apply(self.table, self.places)
        self.edits.append(edit)
        self.undone.clear()
        self._begin()

    def undo(self) -> None:
        """Take the last edit back."""
        if not self.edits:
            raise UserError("there is nothing to undo")
        *rest, last = self.edits
        self._return_to(rest, [*self.undone, last])

    def redo(self) -> None:
        """Repeat the edit that was undone last."""
        if not self.undone:
            raise UserError("there is nothing to redo")
        *rest, last = self.undone
        self.finish()
        self._return_to([*self.edits, last], rest)

    def reset(self) -> None:
        """Return to the table as it was learned; redo brings the edits back."""
        self._return_to([], [*self.undone, *reversed(self.edits)])

    def repeat(self, edits: Iterable[Edit]) -> None:
        """Do these edits in place of those done so far."""
        self._return_to(list(edits), [])

    def before_last_sweep(self) -> TransitionTable:
        """Return the table after the last edit and before the planning that followed it."""
        fresh = WhatIf(self.learned, self.places)
        fresh._snapshots = self._snapshots
        if self.edits:
            fresh.repeat(self.edits[:-1])
            fresh.do(self.edits[-1])
        return fresh.table

    def keep_snapshot(self) -> None:
        """Remember the table as it is now, when it is settled, so that undo need not plan again."""
        if not self.is_settled or any(_same(each.edits, self.edits) for each in self._snapshots):
            return
        self._snapshots.append(Snapshot(list(self.edits), self.table.state_dict(), self._done))
        while sum(each.nbytes for each in self._snapshots) > SNAPSHOT_BYTES:
            self._snapshots.pop(0)

    def _return_to(self, edits: list[Edit], undone: list[Edit]) -> None:
        """Be in the state after these edits, from the last snapshot on the way there."""
        known = [each for each in self._snapshots if _same(each.edits, edits[: len(each.edits)])]
        found = max(known, key=lambda each: len(each.edits), default=None)
        if found is None:
            table, done = exact_copy(self.learned), []
        else:
            table, done = TransitionTable.from_state_dict(found.state), list(found.edits)
        self.table, self.edits = table, done
        self._begin()
        if found is not None:
            self._done = found.progress
        for edit in edits[len(done) :]:
            self.do(edit)
            self.finish()
        self.undone = undone

    # --- planning ---------------------------------------------------------------------------------

    @property
    def is_settled(self) -> bool:
        """Whether there is nothing left to plan."""
        return self.table.queue_length == 0 or not self.edits

    def sweep(self, *, visible: bool) -> Progress:
        """Do the next slice of backups, a small one if it is meant to be seen."""
        budget = next(self._slices) if visible else AT_ONCE
        begin = time.perf_counter()
        backups = self.table.sweep(budget)
        seconds = time.perf_counter() - begin
        done = self._done
        self._done = Progress(
            done.backups + backups, done.seconds + seconds, self.table.queue_length
        )
        return self._done

    def finish(self) -> None:
        """Plan until nothing changes any more."""
        while not self.is_settled:
            self.sweep(visible=False)

    @property
    def progress(self) -> Progress:
        """How far the planning after the last edit has come."""
        return self._done

    def _begin(self) -> None:
        self._rows = None
        self._slices = slices()
        self._done = Progress(0, 0.0, self.table.queue_length)

    # --- looking ----------------------------------------------------------------------------------

    def values(self) -> Values:
        """Return V of each state of the map; nan where no action was ever taken."""
        pairs = self.table.pairs()
        if self._rows is None or len(self._rows) != len(pairs.states):
            self._rows = self.places.rows(pairs.states)  # sweeping leaves the order as it is
        return _placed_values(self._rows, pairs, len(self.places))

    def path(self, row: int, table: TransitionTable | None = None) -> Path:
        """Return the greedy path from a state, in the edited table or in another one."""
        found = greedy_path(table or self.table, int(self.places.keys[row]))
        return Path(self.places.rows(found.states).tolist(), found.end)


def exact_copy(table: TransitionTable) -> TransitionTable:
    """Return a copy of a table with the exact queue."""
    return TransitionTable.from_state_dict(with_exact_queue(table.state_dict()))


def slices() -> Iterator[int]:
    """Yield the sizes of the slices of a visible sweep, each longer than the last."""
    size = float(FIRST_SLICE)
    while True:
        yield int(size)
        size = min(size * GROWTH, AT_ONCE)


def _placed_values(rows: Rows, pairs: Pairs, n: int) -> Values:
    """Return V of each of the map's n states; nan where the table knows no action."""
    found = np.full(n, np.nan)
    there = rows >= 0
    # fmax ignores nan, and gives nan only where no action is known
    found[rows[there]] = np.fmax.reduce(pairs.q[there], axis=1)
    return found
