"""The tabular half of VaST: a table of transition counts, and prioritized sweeping on it.

Knows nothing of pixels, networks or environments. Imports only NumPy and Numba.
"""

from vast.planning.playback import Playback
from vast.planning.reference import ReferenceTable
from vast.planning.sweep_log import SweepLog, log_sweep
from vast.planning.sweeper import BackgroundSweeper, InlineSweeper, Statistics, Sweeper
from vast.planning.table import TransitionTable
from vast.planning.transitions import Pairs, Transitions

__all__ = [
    "BackgroundSweeper",
    "InlineSweeper",
    "Pairs",
    "Playback",
    "ReferenceTable",
    "Statistics",
    "SweepLog",
    "Sweeper",
    "TransitionTable",
    "Transitions",
    "log_sweep",
]
