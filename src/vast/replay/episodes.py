"""What happened between frames: actions, rewards, and how episodes began and ended."""

import math
import operator
from collections.abc import Mapping
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vast.replay.ring import Numbers, Ring
from vast.replay.saved import as_array, require

MAX_ACTIONS = 256
"""as many as a transition table can tell apart"""


class Fate(IntEnum):
    """What came after a frame."""

    OPEN = 0
    """nothing yet: the newest frame of an episode that is going on"""
    CONTINUED = 1
    """an action and a reward that led to the next frame"""
    TERMINAL = 2
    """an action and a reward that ended the episode; no frame is stored for its end"""
    TRUNCATED = 3
    """nothing: the episode was cut off here, and is not at an end as far as values go"""


COLUMNS: dict[str, np.dtype[Any]] = {
    "episode": np.dtype(np.int64),
    "action": np.dtype(np.uint8),
    "reward": np.dtype(np.float64),
    "fate": np.dtype(np.uint8),
}
"""what is kept per frame; action and reward are those that *followed* it, 0 if none did"""


class Episodes:
    """The episode of each frame and its fate; both frames and episodes have absolute numbers."""

    def __init__(self, ring: Ring, n_actions: int) -> None:
        if not 1 <= n_actions <= MAX_ACTIONS:
            raise ValueError(f"n_actions {n_actions}: allowed is 1 to {MAX_ACTIONS}")
        self.ring = ring
        self.n_actions = n_actions
        self.count = 0
        """episodes begun since the beginning"""
        self.episode = np.zeros(ring.capacity, np.int64)
        self.action = np.zeros(ring.capacity, np.uint8)
        self.reward = np.zeros(ring.capacity, np.float64)
        self.fate = np.zeros(ring.capacity, np.uint8)
        # An episode has at least one frame, so that a ring of the same size holds their starts.
        self._start = np.zeros(ring.capacity, np.int64)

    @property
    def is_open(self) -> bool:
        """Whether an episode is going on."""
        return len(self.ring) > 0 and self.fate[self.ring.slot(self.ring.newest)] == Fate.OPEN

    def require_open(self) -> None:
        """Raise ValueError unless an episode is going on."""
        if not self.is_open:
            raise ValueError("no episode is going on: call begin with its first observation")

    def check_step(self, action: int, reward: float) -> tuple[int, float]:
        """Return an action and a reward; ValueError if they cannot be."""
        try:
            a = operator.index(action)
        except TypeError:
            raise ValueError(f"action {action!r}: allowed are integers") from None
        if not 0 <= a < self.n_actions:
            raise ValueError(f"action {a}: allowed is 0 to {self.n_actions - 1}")
        r = float(reward)
        if not math.isfinite(r):
            raise ValueError(f"reward {r}: allowed are finite numbers")
        return a, r

    def open_frame(self, number: int, *, begins: bool) -> None:
        """Note that a frame was observed, as the first of an episode or as the next of this one."""
        if begins:
            self._start[self.ring.slot(self.count)] = number
            self.count += 1
        slot = self.ring.slot(number)
        self.episode[slot] = self.count - 1
        self.action[slot] = self.reward[slot] = 0
        self.fate[slot] = Fate.OPEN

    def close_frame(self, number: int, fate: Fate, action: int = 0, reward: float = 0.0) -> None:
        """Note what came after a frame."""
        slot = self.ring.slot(number)
        self.action[slot], self.reward[slot], self.fate[slot] = action, reward, fate

    def starts(self, numbers: Numbers) -> Numbers:
        """Return the first frame, stored or not, of the episode of each frame."""
        return self._start[self.ring.slot(self.episode[self.ring.slot(numbers)])]

    def ends(self, numbers: Numbers) -> Numbers:
        """Return the number after the last frame stored of the episode of each frame."""
        following = self.episode[self.ring.slot(numbers)] + 1
        newest = following == self.count
        return np.where(newest, self.ring.end, self._start[self.ring.slot(following)])

    def starts_from(self, number: int) -> Numbers:
        """Return the first frames stored, from `number` on, of each episode that has some there."""
        if number == self.ring.end:
            return np.zeros(0, np.int64)
        first = int(self.episode[self.ring.slot(number)])
        starts = self._start[self.ring.slot(np.arange(first, self.count))]
        return np.maximum(starts, number)

    def complete_from(self, back: int) -> int:
        """Return the first frame from which on each has the `back` frames before it stored.

        Frames before the start of an episode are not missing, but blank. So only the oldest episode
        can lack frames, if its beginning was evicted.
        """
        oldest = np.array([self.ring.oldest])
        if not len(self.ring) or self.starts(oldest)[0] == oldest[0]:
            return self.ring.oldest
        return int(min(oldest[0] + back, self.ends(oldest)[0]))

    # --- saving -----------------------------------------------------------------------------------

    def state(self) -> dict[str, NDArray[Any]]:
        """Return copies of all that is known about the frames stored, oldest first."""
        slots = self.ring.slot(self.ring.numbers())
        episodes = np.arange(self.episode[slots[0]] if len(slots) else 0, self.count)
        columns = {name: getattr(self, name)[slots] for name in COLUMNS}
        return {**columns, "start": self._start[self.ring.slot(episodes)]}

    def restored(self, ring: Ring, saved: Mapping[str, Any]) -> "Episodes":
        """Return the saved episodes; ValueError if they contradict themselves."""
        new = Episodes(ring, self.n_actions)
        column = {name: as_array(saved, name, dtype) for name, dtype in COLUMNS.items()}
        for name, values in column.items():
            require(values.shape == (len(ring),), name)
            getattr(new, name)[ring.slot(ring.numbers())] = values
        starts = as_array(saved, "start", np.dtype(np.int64))
        require(starts.ndim == 1, "start")
        episode, fate = column["episode"], column["fate"]
        require((column["action"] < self.n_actions).all(), "action")
        require(np.isfinite(column["reward"]).all(), "reward")
        require((fate <= max(Fate)).all() and (fate[:-1] != Fate.OPEN).all(), "fate")
        require((fate[-1:] != Fate.CONTINUED).all(), "fate")
        # The next frame is of the same episode if this one continued, otherwise of the next.
        require((np.diff(episode) == (fate[:-1] != Fate.CONTINUED)).all(), "episode")
        if len(ring):
            first = ring.numbers()[1:][np.diff(episode) == 1]
            require(starts.shape == (len(first) + 1,) and (starts[1:] == first).all(), "start")
            # Each episode before had a frame at least, and all had some if there is one before.
            require(0 <= episode[0] <= starts[0] <= ring.oldest, "start")
            require((episode[0] == 0) == (starts[0] == 0), "start")
            new.count = int(episode[-1]) + 1
            new._start[ring.slot(np.arange(episode[0], new.count))] = starts
        else:
            require(starts.shape == (0,), "start")
        return new
