"""The tabular half: transitions counted in a table, and prioritized sweeping in it.

Knows nothing of pixels, networks or environments; imports only NumPy and Numba.
"""

from vast.planning.reference import ReferenceTable
from vast.planning.sweeper import BackgroundSweeper, InlineSweeper, Statistics, Sweeper
from vast.planning.table import TransitionTable
from vast.planning.transitions import Transitions

__all__ = [
    "BackgroundSweeper",
    "InlineSweeper",
    "ReferenceTable",
    "Statistics",
    "Sweeper",
    "TransitionTable",
    "Transitions",
]
