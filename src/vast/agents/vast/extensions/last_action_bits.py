"""The last action as part of the state, or the last few.

The last action tells what an image hides: how fast the agent moves, how long it has been turning.
So a state has one bit per action beyond those of its code, of which that of the last action is set;
none at the start of an episode. The same image after another action is 2 bits away: the nearest
state, whose values serve as long as the new state has none. The action before the last has bits of
its own, and so on.
"""

import logging
from typing import Self

import numpy as np

from vast.agents.extension import Codes, Extension, LastActions
from vast.agents.vast.config import ExtensionsConfig
from vast.agents.vast.extensions import Context
from vast.errors import UserError

log = logging.getLogger(__name__)

BITS = 64


class LastActionBits(Extension):
    """Sets some of the top bits of a state, one by each of the last actions; the newest is on top.

    Args:
        n_actions: of the task.
        n_bits: of a code.
        count: of the last actions.
    """

    def __init__(self, n_actions: int, n_bits: int, count: int = 1) -> None:
        if n_bits + count * n_actions > BITS:
            raise UserError(
                f"last_action requires n_bits and the bits of actions to be at most {BITS} "
                f"together, got {n_bits} and {count * n_actions}"
            )
        shifts = np.arange(BITS - count * n_actions, BITS, dtype=np.uint64)
        # [count, n_actions], the newest action in the first row
        self._bits = (np.uint64(1) << shifts).reshape(count, n_actions)[::-1]
        self._mask = np.bitwise_or.reduce(self._bits, None)

    @property
    def actions_needed(self) -> int:
        """How many of the last actions a state tells."""
        return len(self._bits)

    @classmethod
    def from_config(cls, config: ExtensionsConfig, context: Context) -> Self | None:
        """Return the extension, or None if it is off, or if there is no room for its bits."""
        if not config.last_action:
            return None
        count = config.last_action_count
        if context.n_bits + count * context.n_actions > BITS:
            log.warning(
                "last_action is off: codes of %d bits and %d bits of actions do not fit into %d",
                context.n_bits,
                count * context.n_actions,
                BITS,
            )
            return None
        return cls(context.n_actions, context.n_bits, count)

    def tag(self, codes: Codes, last: LastActions) -> Codes:
        """Return the states of codes, given the last actions before them."""
        for bits, (actions, known) in zip(self._bits, last, strict=False):
            codes = codes | np.where(known, bits[actions], np.uint64(0))
        return codes

    def retag(self, codes: Codes, states: Codes) -> Codes:
        """Return the states of new codes; the actions' bits are those of the old state."""
        kept: Codes = states & self._mask
        return codes | kept
