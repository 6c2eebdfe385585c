"""The neural half: observations and actions to discrete states, learned without any reward.

Knows nothing of rewards, tables, environments or replay; imports only NumPy and PyTorch.
"""

from typing import TYPE_CHECKING

from vast.lazy import lazy_names
from vast.model.codes import pack, unpack
from vast.model.config import ModelConfig, NetworkConfig

if TYPE_CHECKING:
    from vast.model.free_energy import Terms
    from vast.model.tabulator import Batch, Tabulator

__all__ = ["Batch", "ModelConfig", "NetworkConfig", "Tabulator", "Terms", "pack", "unpack"]

# Configs are read by commands that need no networks: these come, with PyTorch, when asked for.
__getattr__ = lazy_names(
    __name__,
    {
        "Batch": "vast.model.tabulator",
        "Tabulator": "vast.model.tabulator",
        "Terms": "vast.model.free_energy",
    },
)
