"""The tabular half of VaST: a table of transition counts, and prioritized sweeping on it.

Knows nothing of pixels, networks or environments. Imports only NumPy and Numba.
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
