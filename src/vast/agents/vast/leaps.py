"""An action that all of a sudden leads elsewhere: a door has opened, a bridge has fallen.

A table of counts is slow to see that. An action that has led to one place ten times and now leads
to another counts for an eleventh of it, and nobody goes back for an eleventh of a door. So when a
state and an action that are known well lead far away from wherever they led before, what they did
before is forgotten. If it was chance after all, the next visits will tell. Not in the paper.
"""

import numpy as np

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
        return sum(
            self._is_leap(*one)
            for one in zip(
                added.states[~added.terminals].tolist(),
                added.actions[~added.terminals].tolist(),
                added.next_states[~added.terminals],
                added.numbers[~added.terminals].tolist(),
                strict=True,
            )
        )

    def _is_leap(self, state: int, action: int, reached: np.uint64, number: int) -> bool:
        """Tell whether a transition is a leap; if so, forget those before it."""
        if self._table.count(state, action) <= KNOWN:
            return False
        taken = self._replay.taken(state, action)
        before = taken.numbers < number
        led_to = taken.next_states[before & ~taken.terminals]
        if len(led_to) < KNOWN or np.bitwise_count(led_to ^ reached).min() <= self._far:
            return False
        self._replay.forget(taken.numbers[before])
        return True
