"""The neural half: observations and actions to discrete states, learned without any reward.

Knows nothing of rewards, tables, environments or replay; imports only NumPy and PyTorch.
"""

from vast.model.codes import pack, unpack
from vast.model.config import ModelConfig, NetworkConfig
from vast.model.free_energy import Terms
from vast.model.tabulator import Batch, Tabulator

__all__ = ["Batch", "ModelConfig", "NetworkConfig", "Tabulator", "Terms", "pack", "unpack"]
