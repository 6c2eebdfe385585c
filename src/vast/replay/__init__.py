"""The replay memory: frames, episodes and the state assigned to each frame.

Samples minibatches, and revises a transition table when states are reassigned. Knows nothing of
networks, environments or agents. Imports only NumPy and LZ4.
"""

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
