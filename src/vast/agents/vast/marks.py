"""The action that led to an observation as a part of its state.

What was just done says something that a picture does not show: how fast one moves, how long one has
been turning. So the state has bits beyond those of the code, one for each action, of which that of
the last action is set; none at the start of an episode. The same picture after another action is 2
bits away, the nearest of all states, and speaks for it as long as it is new. Not in the paper.
"""

import numpy as np
from numpy.typing import NDArray

from vast.errors import UserError
from vast.replay import Replay
from vast.replay.ring import Numbers

BITS = 64


class Marks:
    """The bits for the last action, at the top of a state; no bits unless `wanted`."""

    def __init__(self, n_actions: int, n_bits: int, wanted: bool) -> None:
        if wanted and n_bits + n_actions > BITS:
            raise UserError(
                f"last_action with {n_bits} bits and {n_actions} actions: "
                f"allowed are {BITS} together"
            )
        one_hot = np.uint64(1) << np.arange(BITS - n_actions, BITS, dtype=np.uint64)
        self._marks = one_hot if wanted else np.zeros(n_actions, np.uint64)
        self._all = np.bitwise_or.reduce(self._marks)

    def after(self, code: int, action: int | None) -> int:
        """Return the state of a code that was seen after an action, or first in an episode."""
        return code if action is None else code | int(self._marks[action])

    def first(
        self, replay: Replay, numbers: Numbers, codes: NDArray[np.uint64]
    ) -> NDArray[np.uint64]:
        """Return the states of frames of the replay that get their first codes."""
        actions, known = replay.actions_before(numbers)
        return codes | np.where(known, self._marks[actions], np.uint64(0))

    def again(self, states: NDArray[np.uint64], codes: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Return the states of frames that have states and get new codes."""
        kept: NDArray[np.uint64] = states & self._all
        return codes | kept
