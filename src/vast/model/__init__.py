"""The neural half: maps observations to discrete states, learned from observations and actions.

Knows nothing of rewards, tables, environments or replay; imports only NumPy and PyTorch.
"""

from typing import TYPE_CHECKING

from vast.lazy import lazy_names
from vast.model.codes import pack, unpack
from vast.model.config import EstimatorName, ModelConfig, NetworkConfig

if TYPE_CHECKING:
    from vast.model.free_energy import Terms
    from vast.model.tabulator import Batch, Tabulator

__all__ = [
    "Batch",
    "EstimatorName",
    "ModelConfig",
    "NetworkConfig",
    "Tabulator",
    "Terms",
    "pack",
    "unpack",
]

# Commands that only read configs need no networks: these names import PyTorch when first used.
__getattr__ = lazy_names(
    __name__,
    {
        "Batch": "vast.model.tabulator",
        "Tabulator": "vast.model.tabulator",
        "Terms": "vast.model.free_energy",
    },
)
