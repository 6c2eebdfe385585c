"""What agents that plan in a table have in common: when they plan, and what they tell of it."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vast.agents.config import Planner
from vast.planning import BackgroundSweeper, InlineSweeper, Sweeper, TransitionTable


def sweeper(table: TransitionTable, planner: Planner, backups: int) -> Sweeper:
    """Return a sweeper at work: with a budget for each step, or in the background."""
    inline = planner == "inline"
    made: Sweeper = InlineSweeper(table, backups) if inline else BackgroundSweeper(table)
    made.start()
    return made


class Visits:
    """How many state-action pairs were met, and how many of them had been met before (Fig. 4B)."""

    def __init__(self, table: TransitionTable) -> None:
        self._table = table
        self._counts = np.zeros(2, np.int64)

    def note(self, met: int, again: int) -> None:
        """Count pairs that were met, and those of them that were not new."""
        self._counts += (met, again)

    def metrics(self) -> dict[str, float]:
        """Return the size of the table, how much was planned, and how much of it was met again."""
        met, again = self._counts.tolist()
        return {
            "table/states": len(self._table),
            "table/transitions": self._table.n_transitions,
            "table/backups": self._table.total_backups,
            "table/queue": self._table.queue_length,
            "table/revisited": again / met if met else 0.0,
        }

    def counts(self) -> NDArray[np.int64]:
        """Return both numbers, to be saved."""
        return self._counts.copy()

    def load_counts(self, counts: ArrayLike) -> None:
        """Go on from saved numbers."""
        self._counts[:] = counts
