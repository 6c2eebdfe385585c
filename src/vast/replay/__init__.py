"""The replay memory: frames, episodes and state assignments; what is sampled, what was reassigned.

Knows nothing of networks, environments or agents; imports only NumPy and LZ4.
"""

from vast.replay.assignments import Revision
from vast.replay.frames import estimate_bytes
from vast.replay.replay import Replay
from vast.replay.sampling import Minibatch, Segments, Steps
from vast.replay.tables import BatchTable, Table, Transitions

__all__ = [
    "BatchTable",
    "Minibatch",
    "Replay",
    "Revision",
    "Segments",
    "Steps",
    "Table",
    "Transitions",
    "estimate_bytes",
]
