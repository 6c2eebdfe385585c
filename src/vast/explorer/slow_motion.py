"""Slow motion: a sweep of a what-if backup by backup, for the page to play and the user to keep."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vast.analysis.replay_sequences import backups_of, statistics
from vast.explorer.edits import rebuilt
from vast.explorer.places import Places
from vast.explorer.what_if import WhatIf
from vast.planning.sweep_log import SweepLog, log_sweep

MAX_BACKUPS = 200_000
"""of one log, at most; the page says so if there would be more"""

SHUFFLES = 100
"""random orders of the same backups, for the chance level of sequences"""


class SlowMotion:
    """The log of one sweep of a what-if."""

    def __init__(self, what_if: WhatIf, source: str) -> None:
        table = what_if.before_last_sweep() if source == "edit" else rebuilt(what_if.table)
        self.log: SweepLog = log_sweep(table, MAX_BACKUPS)
        self.places = what_if.places
        self.is_whole = self.log.table_after().queue_length == 0

    def sequences(self) -> dict[str, float]:
        """Return how many pairs and sequences of backups are forward and reverse, and by chance."""
        rng = np.random.default_rng(0)
        return statistics(backups_of(self.log), rng, shuffles=SHUFFLES).summary()

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the sweep for the page: pops, backups, and the values before the first of them."""
        log, rows = self.log, self.places.rows
        play = log.play()
        before = np.full(len(self.places), np.nan)
        at = rows(play.states)
        before[at[at >= 0]] = play.v[at >= 0]
        return {
            "values": before.astype(np.float32),
            "pop_row": rows(log.pops.states).astype(np.int32),
            "pop_priority": log.pops.priorities.astype(np.float32),
            "pop_first": np.searchsorted(log.backups.pops, np.arange(len(log.pops.states))).astype(
                np.uint32
            ),
            "row": rows(log.backups.states).astype(np.int32),
            "action": log.backups.actions.astype(np.uint8),
            "q_change": log.q_change.astype(np.float32),
            "value": log.backups.v_after.astype(np.float32),
        }

    def file(self, kind: str) -> bytes:
        """Return the log as the bytes of a CSV or .npz file, with the poses of its states."""
        poses = _poses(self.places)
        with TemporaryDirectory() as folder:
            path = Path(folder) / f"sweep.{kind}"
            write = self.log.to_csv if kind == "csv" else self.log.to_npz
            write(path, poses)
            return path.read_bytes()


def _poses(places: Places) -> dict[int, tuple[float, float, float]]:
    columns = (places.keys, places.at[:, 0], places.at[:, 1], places.heading)
    return {
        key: (x, y, heading)
        for key, x, y, heading in zip(*(column.tolist() for column in columns), strict=True)
    }
