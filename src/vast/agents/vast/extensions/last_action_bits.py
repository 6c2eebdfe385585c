"""The last action as part of the state.

The last action tells what an image hides: how fast the agent moves, how long it has been turning.
So a state has one bit per action beyond those of its code, of which that of the last action is set;
none at the start of an episode. The same image after another action is 2 bits away: the nearest
state, whose values serve as long as the new state has none.
"""

import logging
from typing import Self

import numpy as np
from numpy.typing import NDArray

from vast.agents.extension import Codes, Extension
from vast.agents.vast.config import ExtensionsConfig
from vast.agents.vast.extensions import Context
from vast.errors import UserError

log = logging.getLogger(__name__)

BITS = 64


class LastActionBits(Extension):
    """Sets one of the top bits of a state by the action that led to it."""

    def __init__(self, n_actions: int, n_bits: int) -> None:
        if n_bits + n_actions > BITS:
            raise UserError(
                f"last_action requires n_bits and actions to be at most {BITS} together, "
                f"got {n_bits} and {n_actions}"
            )
        self._bits = np.uint64(1) << np.arange(BITS - n_actions, BITS, dtype=np.uint64)
        self._mask = np.bitwise_or.reduce(self._bits)

    @classmethod
    def from_config(cls, config: ExtensionsConfig, context: Context) -> Self | None:
        """Return the extension, or None if it is off, or if there is no room for its bits."""
        if not config.last_action:
            return None
        if context.n_bits + context.n_actions > BITS:
            log.warning(
                "last_action is off: codes of %d bits and %d actions do not fit into %d bits",
                context.n_bits,
                context.n_actions,
                BITS,
            )
            return None
        return cls(context.n_actions, context.n_bits)

    def tag(self, codes: Codes, actions: NDArray[np.uint8], known: NDArray[np.bool_]) -> Codes:
        """Return the states of codes, given the actions that led to them."""
        return codes | np.where(known, self._bits[actions], np.uint64(0))

    def retag(self, codes: Codes, states: Codes) -> Codes:
        """Return the states of new codes; the action's bit is that of the old state."""
        kept: Codes = states & self._mask
        return codes | kept
