"""A sweep with every backup written down, for slow motion and for research on the order of replay.

    log = log_sweep(table)  # the table itself is not changed
    log.backups.states, log.backups.q_after, log.popped, log.priorities  # one row per backup
    log.table_after().value(state)

The sweep takes place on a copy, in the order of the algorithm (`queue="exact"`), whatever queue the
table has.
"""

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vast.planning.arguments import as_integer
from vast.planning.log_files import Poses, read_npz, write_csv, write_npz
from vast.planning.logged_sweep import Backups, Pops, empty_backups, empty_pops
from vast.planning.memory import LENGTH
from vast.planning.playback import Playback
from vast.planning.table import TransitionTable
from vast.planning.table_state import with_exact_queue

CHUNK = 1 << 16
"""rows of the log that are filled per call of the kernel; Python handles interrupts in between"""


@dataclass(frozen=True)
class SweepLog:
    """Every pop and every backup of one sweep, in order, and the table after it."""

    pops: Pops
    """[P] the states popped, also those without predecessors, which cause no backup"""
    backups: Backups
    """[K] the backups; `backups.pops` tells which pop caused each"""
    after: Mapping[str, Any]
    """the state of the table after the sweep, as `TransitionTable.state_dict` returns it"""

    def __len__(self) -> int:
        return len(self.backups.pops)

    @property
    def popped(self) -> NDArray[np.uint64]:
        """[K] the popped state that caused each backup: the successor of (s, a) that changed."""
        return self.pops.states[self.backups.pops]

    @property
    def priorities(self) -> NDArray[np.float64]:
        """[K] the priority at which that state was popped."""
        return self.pops.priorities[self.backups.pops]

    @property
    def q_change(self) -> NDArray[np.float64]:
        """[K] by how much Q(s, a) changed."""
        return self.backups.q_after - self.backups.q_before

    @property
    def v_change(self) -> NDArray[np.float64]:
        """[K] by how much V(s) changed."""
        return self.backups.v_after - self.backups.v_before

    def table_after(self) -> TransitionTable:
        """Return the table after the sweep, a new copy with each call."""
        return TransitionTable.from_state_dict(self.after)

    def play(self) -> Playback:
        """Return the sweep as a film: values and queue before it, to be moved to any backup."""
        return Playback(self.pops, self.backups, self.after)

    def values_after(self, position: int) -> NDArray[np.float64]:
        """Return V after this many backups, in the order of `TransitionTable.states`.

        To look at many positions, use `play`.
        """
        playback = self.play()
        playback.seek(position)
        return playback.v[: playback.n_states]

    def to_npz(self, path: str | Path, poses: Poses | None = None) -> None:
        """Write the whole log, and the table after the sweep, as arrays; `load` reads it.

        `poses` gives states their (x, y, heading in degrees); unknown ones are nan.
        """
        write_npz(Path(path), self.pops, self.backups, self.after, poses)

    def to_csv(self, path: str | Path, poses: Poses | None = None) -> None:
        """Write the backups as a table for other programs, one row each, below a header.

        States are written as `s` and 16 hexadecimal digits, because spreadsheets and most
        statistics programs round integers of 64 bits. `int(text[1:], 16)` is the state.
        """
        write_csv(Path(path), self.pops, self.backups, poses)

    @classmethod
    def load(cls, path: str | Path) -> "SweepLog":
        """Read a log that `to_npz` wrote; ValueError in one line if it is damaged."""
        return cls(*read_npz(Path(path)))


def log_sweep(table: TransitionTable, budget: int | None = None) -> SweepLog:
    """Sweep a copy of the table in the exact order of the algorithm, and log every backup.

    Backups stop at `budget` as in `TransitionTable.sweep`; None: when the queue is empty. The queue
    holds what the last additions, deletions and `set_reward` have left there. A backup takes 72
    bytes.
    """
    left = sys.maxsize if budget is None else as_integer("budget", budget)
    if left < 0:
        raise ValueError(f"budget must be 0 or more, or None, got {left}")
    state = with_exact_queue(table.state_dict())
    copy = TransitionTable.from_state_dict(state)
    # All backups of one pop must fit.
    rows = max(CHUNK, int(state["block"][:, LENGTH].max(initial=0)))
    pops, backups = empty_pops(rows), empty_backups(rows)
    popped: list[Iterable[Any]] = [empty_pops(0)]
    backed_up: list[Iterable[Any]] = [empty_backups(0)]
    n_pops = 0
    while left > 0 and copy.queue_length > 0:
        k, i = copy.sweep_logged(pops, backups, n_pops, left)
        popped.append([column[:k].copy() for column in pops])
        backed_up.append([column[:i].copy() for column in backups])
        n_pops += k
        left -= i
    return SweepLog(
        Pops(*map(np.concatenate, zip(*popped, strict=True))),
        Backups(*map(np.concatenate, zip(*backed_up, strict=True))),
        copy.state_dict(),
    )
