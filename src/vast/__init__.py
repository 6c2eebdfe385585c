"""Variational State Tabulation: pixels to a table, and planning in that table."""

from typing import TYPE_CHECKING

from vast.envs import register_all
from vast.lazy import lazy_names

if TYPE_CHECKING:
    from vast.agents.public import LSH, MFEC, NEC, PrioritizedDDQN, VaST

__all__ = ["LSH", "MFEC", "NEC", "PrioritizedDDQN", "VaST"]

__version__ = "0.1.0"
__getattr__ = lazy_names(__name__, dict.fromkeys(__all__, "vast.agents.public"))

register_all()
