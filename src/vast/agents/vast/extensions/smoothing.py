"""Smoothed and cautious values.

A state that was visited twice knows little by itself, and the best of several noisy values is too
good to be true. So the states around it contribute to its Q-values, less with each bit of distance
beyond the nearest. An agent that acts without learning also lowers each value by some standard
errors, and so prefers what it knows well; while it learns, it usually pays to try things out.
"""

from typing import Self

from vast.agents.extension import ActionValues, Extension
from vast.agents.vast.config import ExtensionsConfig
from vast.agents.vast.extensions import Context
from vast.planning import TransitionTable


class Smoothing(Extension):
    """Estimates Q over a neighbourhood instead of the nearest states only."""

    def __init__(
        self,
        table: TransitionTable,
        width: float,
        caution: float,
        smooth_learning: bool = True,
        cautious_learning: bool = False,
    ) -> None:
        self._table = table
        self._width, self._caution = width, caution
        self._learning_width = width if smooth_learning else 0.0
        self._learning_caution = caution if cautious_learning else 0.0

    @classmethod
    def from_config(cls, config: ExtensionsConfig, context: Context) -> Self | None:
        """Return the extension, or None if it is off."""
        if not (config.smoothing or config.caution):
            return None
        return cls(
            context.table,
            config.smoothing,
            config.caution,
            config.smooth_learning,
            config.cautious_learning,
        )

    def estimate(self, state: int, learning: bool) -> ActionValues:
        """Return the smoothed values, lowered by caution."""
        if learning:
            width, caution = self._learning_width, self._learning_caution
            return ActionValues(*self._table.estimate(state, width, caution))
        return ActionValues(*self._table.estimate(state, self._width, self._caution))
