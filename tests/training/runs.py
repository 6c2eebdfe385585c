"""Runs that fill a replay with frames known by their number, and what is left of them on disk."""

import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vast.replay import Replay
from vast.training.checkpoint import Checkpoint

CAPACITY = 30
SHAPE = (50,)


def make(*, compressed: bool = False) -> Replay:
    return Replay(CAPACITY, SHAPE, 2, dtype=np.uint32, compressed=compressed)


def frame(number: int, seed: int = 0) -> NDArray[Any]:
    return np.random.default_rng((seed, number)).integers(0, 1000, SHAPE, np.uint32)


def grow(replay: Replay, steps: int, seed: int = 0) -> None:
    """Live through so many steps; what is seen depends on nothing but their number."""
    for number in range(replay.end, replay.end + steps):
        if replay.in_episode:
            replay.append(number % 2, number / 8, frame(number, seed))
        else:
            replay.begin(frame(number, seed))


def state_of(replay: Replay) -> dict[str, Any]:
    return {"step": replay.end, "replay": replay.state_dict(frames=False)}


def loaded(checkpoint: Checkpoint, *, compressed: bool = False) -> Replay:
    state, frames = checkpoint.load()
    replay = make(compressed=compressed)
    replay.load_state_dict(state["replay"], frames)
    assert replay.end == state["step"]
    return replay


def sound(folder: Path, seed: int = 0, *, compressed: bool = False) -> int:
    """Check that a checkpoint is of one moment of a run; return how many steps had been taken."""
    replay = loaded(Checkpoint(folder), compressed=compressed)
    lived = make(compressed=compressed)
    grow(lived, replay.end, seed)
    assert identical(replay.state_dict(), lived.state_dict())
    return replay.end


def identical(one: Any, other: Any) -> bool:
    """Return whether two states are the same, to the type and the bit."""
    if type(one) is not type(other):
        return False
    if isinstance(one, Mapping):
        return list(one) == list(other) and all(identical(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(identical, one, other))
    if isinstance(one, np.ndarray | np.generic) and not isinstance(one, str):
        same: bool = one.dtype == other.dtype and one.shape == other.shape
        return same and one.tobytes() == other.tobytes()
    if isinstance(one, float):
        return struct.pack("d", one) == struct.pack("d", other) or (one != one and other != other)
    return bool(one == other)
