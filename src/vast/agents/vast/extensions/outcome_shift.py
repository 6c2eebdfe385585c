"""Actions whose outcome suddenly shifts: a door has opened, a bridge has fallen.

A table of counts is slow to see that. An action that led to one place ten times and now leads to
another gives the new place a weight of one eleventh, too little to go back for. So if a well-known
state-action pair leads far away from wherever it led before, its earlier outcomes are forgotten. If
the new outcome was chance after all, the next visits correct it.
"""

from typing import Self

import numpy as np
from numpy.typing import NDArray

from vast.agents.extension import Extension
from vast.agents.vast.config import ExtensionsConfig
from vast.agents.vast.extensions import Context
from vast.planning import TransitionTable
from vast.replay import Replay, TransitionBatch

KNOWN = 3
"""earlier outcomes of a state-action pair from which on a new one can be a surprise"""


class OutcomeShift(Extension):
    """Detects transitions that lead far away from all earlier ones, and forgets those."""

    def __init__(self, table: TransitionTable, replay: Replay, distance: int) -> None:
        self._table = table
        self._replay = replay
        self._distance = distance

    @classmethod
    def from_config(cls, config: ExtensionsConfig, context: Context) -> Self | None:
        """Return the extension, or None if it is off."""
        if config.outcome_shift is None:
            return None
        return cls(context.table, context.replay, config.outcome_shift)

    def on_tabulated(self, added: TransitionBatch) -> None:
        """Look for shifts among new transitions."""
        self.detect(added)

    def detect(self, added: TransitionBatch) -> int:
        """Forget what new transitions, oldest first, contradict; return how many do."""
        shifts = 0
        columns = (added.states, added.actions, added.next_states, added.terminals, added.numbers)
        for state, action, reached, ends, number in zip(
            *(column.tolist() for column in columns), strict=True
        ):
            if not ends and self._table.count(state, action) > KNOWN:
                taken = self._replay.taken(state, action)
                before = taken.numbers < number
                if self._is_far(reached, taken.next_states[before & ~taken.terminals]):
                    self._replay.forget(taken.numbers[before])
                    shifts += 1
        return shifts

    def _is_far(self, reached: int, earlier: NDArray[np.uint64]) -> bool:
        """Tell whether a state is far from all that were reached before."""
        distances = np.bitwise_count(earlier ^ np.uint64(reached))
        return len(distances) >= KNOWN and bool(distances.min() > self._distance)
