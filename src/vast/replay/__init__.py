"""The replay memory: frames, episodes and the state assigned to each frame.

Samples minibatches, and revises a transition table when states are reassigned. Knows nothing of
networks, environments or agents. Imports only NumPy, LZ4 and Numba.
"""

from typing import TYPE_CHECKING

from vast.lazy import lazy_names

if TYPE_CHECKING:
    from vast.replay.assignments import Revision
    from vast.replay.frames import estimate_bytes
    from vast.replay.replay import Replay
    from vast.replay.sampling import Minibatch, Segments, Steps
    from vast.replay.tables import BatchTable, Table, TransitionBatch, TransitionListener

__all__ = [
    "BatchTable",
    "Minibatch",
    "Replay",
    "Revision",
    "Segments",
    "Steps",
    "Table",
    "TransitionBatch",
    "TransitionListener",
    "estimate_bytes",
]

# Configs name a part of it; they are read without Numba.
__getattr__ = lazy_names(
    __name__,
    {
        "BatchTable": "vast.replay.tables",
        "Minibatch": "vast.replay.sampling",
        "Replay": "vast.replay.replay",
        "Revision": "vast.replay.assignments",
        "Segments": "vast.replay.sampling",
        "Steps": "vast.replay.sampling",
        "Table": "vast.replay.tables",
        "TransitionBatch": "vast.replay.tables",
        "TransitionListener": "vast.replay.tables",
        "estimate_bytes": "vast.replay.frames",
    },
)
