"""Variational State Tabulation: pixels to a table, and planning in that table."""

from typing import TYPE_CHECKING

from vast.agents.recorder import use_recorder
from vast.lazy import lazy_names
from vast.tasks import register_all

if TYPE_CHECKING:
    from vast.agents.ddqn import PrioritizedDDQN
    from vast.agents.lsh import LSH
    from vast.agents.mfec import MFEC
    from vast.agents.nec.agent import NEC
    from vast.agents.vast.agent import VaST
    from vast.experiments.tables import load_table

__all__ = ["LSH", "MFEC", "NEC", "PrioritizedDDQN", "VaST", "load_table"]

__version__ = "0.2.0"
__getattr__ = lazy_names(
    __name__,
    {
        "LSH": "vast.agents.lsh",
        "MFEC": "vast.agents.mfec",
        "NEC": "vast.agents.nec.agent",
        "PrioritizedDDQN": "vast.agents.ddqn",
        "VaST": "vast.agents.vast.agent",
        "load_table": "vast.experiments.tables",
    },
)


def __dir__() -> list[str]:
    """Return the public names, also of what is not imported yet."""
    return sorted([*__all__, "__version__"])


register_all()
use_recorder("vast.experiments.recording:record")  # agents do not know who records their runs
