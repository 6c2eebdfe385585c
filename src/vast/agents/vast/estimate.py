"""What each action is worth in a state, as the agent acts on it."""

import numpy as np
from numpy.typing import NDArray

from vast.agents.vast.config import PlanningConfig
from vast.planning import TransitionTable


class Estimate:
    """Q-values from the table: the neighbour estimate, or without it 0 for what was never tried.

    One who learns tries things out. So nothing is held against an action for being little known,
    and where `smooth_learning` is off each state is believed on its own.
    """

    def __init__(self, table: TransitionTable, planning: PlanningConfig, *, learning: bool) -> None:
        self._table = table
        self._neighbours = planning.neighbours
        self._width = planning.smoothing if planning.smooth_learning or not learning else 0.0
        self._caution = 0.0 if learning else planning.caution

    def __call__(self, state: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return the value of each action and the distance it comes from, -1 if from nowhere."""
        if self._neighbours:
            return self._table.estimate(state, self._width, self._caution)
        q = self._table.q(state)
        return np.nan_to_num(q), np.where(np.isnan(q), -1, 0)
