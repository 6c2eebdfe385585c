"""An action that all of a sudden leads elsewhere: a door has opened, a bridge has fallen.

A table of counts is slow to see that. An action that has led to one place ten times and now leads
to another counts for an eleventh of it, and nobody goes back for an eleventh of a door. So when a
state and an action that are known well lead far away from wherever they led before, what they did
before is forgotten. If it was chance after all, the next visits will tell. Not in the paper.
"""

import numpy as np
from numpy.typing import NDArray

from vast.planning import TransitionTable
from vast.replay import Replay, Transitions

KNOWN = 3
"""how often an action must have been taken in a state for a new outcome to be a surprise"""


class Leaps:
    """Notices transitions that lead far away from all earlier ones, and forgets those."""

    def __init__(self, table: TransitionTable, replay: Replay, far: int) -> None:
        self._table = table
        self._replay = replay
        self._far = far

    def notice(self, added: Transitions) -> int:
        """Look at transitions that were just counted, oldest first; return how many are leaps."""
        leaps = 0
        columns = (added.states, added.actions, added.next_states, added.terminals, added.numbers)
        for state, action, reached, ends, number in zip(
            *(column.tolist() for column in columns), strict=True
        ):
            if not ends and self._table.count(state, action) > KNOWN:
                taken = self._replay.taken(state, action)
                before = taken.numbers < number
                if self._is_far(reached, taken.next_states[before & ~taken.terminals]):
                    self._replay.forget(taken.numbers[before])
                    leaps += 1
        return leaps

    def _is_far(self, reached: int, led_to: NDArray[np.uint64]) -> bool:
        """Tell whether a state is farther than a leap from all that were reached before."""
        distances = np.bitwise_count(led_to ^ np.uint64(reached))
        return len(distances) >= KNOWN and bool(distances.min() > self._far)
