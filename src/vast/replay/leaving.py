"""The transitions that leave frames, and how new states of frames change them, in compiled loops.

A transition is counted if the states of both of its frames are known: from frame i to frame i + 1,
or from frame i to the end of its episode.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from vast.kernel_cache import FOLDER, cached_njit
from vast.replay.episodes import Fate
from vast.replay.ring import Numbers
from vast.replay.tables import Actions, Flags, Rewards, States, TransitionBatch

F = TypeVar("F", bound=Callable[..., Any])

CONTINUED, TERMINAL = int(Fate.CONTINUED), int(Fate.TERMINAL)


def compiled(function: F) -> F:
    """Compile a function at its first call, and cache the result on disk if possible."""
    return cached_njit(function, FOLDER)


class Columns(NamedTuple):
    """What is known of frames, by slot: frame i is in slot i mod their number."""

    state: States
    encoded: Flags
    """whether it has a state"""
    forgotten: Flags
    """whether the transition that leaves it is not counted, for good"""
    fate: NDArray[np.uint8]
    action: Actions
    reward: Rewards


class Change(NamedTuple):
    """What new states changed, and what it takes to undo it."""

    deleted: TransitionBatch
    added: TransitionBatch
    frames: int
    """how many had a state before"""
    changed: int
    """how many of these have another one now"""
    states: States
    """before"""
    encoded: Flags
    """before"""


@compiled
def is_increasing(frames: Numbers) -> bool:
    """Tell whether frames are in order, each once."""
    return bool(np.all(frames[1:] > frames[:-1]))


@compiled
def leaving(columns: Columns, frames: Numbers) -> TransitionBatch:
    """Return the counted transitions that leave these frames."""
    capacity = len(columns.state)
    states, actions = np.empty(len(frames), np.uint64), np.empty(len(frames), np.uint8)
    rewards, next_states = np.empty(len(frames)), np.empty(len(frames), np.uint64)
    terminals, numbers = np.empty(len(frames), np.bool_), np.empty(len(frames), np.int64)
    n = 0
    for frame in frames:
        slot, following = frame % capacity, (frame + 1) % capacity
        ends = columns.fate[slot] == TERMINAL
        goes_on = columns.fate[slot] == CONTINUED and columns.encoded[following]
        if columns.encoded[slot] and not columns.forgotten[slot] and (ends or goes_on):
            states[n], actions[n] = columns.state[slot], columns.action[slot]
            rewards[n], numbers[n], terminals[n] = columns.reward[slot], frame, ends
            next_states[n] = np.uint64(0) if ends else columns.state[following]
            n += 1
    return TransitionBatch(
        states[:n], actions[:n], rewards[:n], next_states[:n], terminals[:n], numbers[:n]
    )


@compiled
def set_states(columns: Columns, oldest: int, frames: Numbers, states: States) -> Change:
    """Give frames, in order and each once, their states; return what changed.

    Transitions next to a frame whose state changes are deleted as they were, and added as they are.
    """
    capacity = len(columns.state)
    # the frames that these transitions leave, in order
    touched, n = np.empty(2 * len(frames), np.int64), 0
    before, encoded = np.empty(len(frames), np.uint64), np.empty(len(frames), np.bool_)
    known = changed = 0
    for i in range(len(frames)):
        frame = frames[i]
        slot, previous = frame % capacity, frame - 1
        before[i], encoded[i] = columns.state[slot], columns.encoded[slot]
        known += encoded[i]
        if encoded[i] and before[i] == states[i]:
            continue
        changed += encoded[i]
        leads_here = frame > oldest and columns.fate[previous % capacity] == CONTINUED
        if leads_here and (n == 0 or touched[n - 1] < previous):
            touched[n] = previous
            n += 1
        touched[n] = frame
        n += 1
    deleted = leaving(columns, touched[:n])
    for i in range(len(frames)):
        slot = frames[i] % capacity
        columns.state[slot], columns.encoded[slot] = states[i], True
    added = leaving(columns, touched[:n])
    return Change(deleted, added, known, changed, before, encoded)
