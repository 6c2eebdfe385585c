"""Actions and rewards between frames, and the starts and ends of episodes."""

import math
import operator
from collections.abc import Mapping
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vast.replay.ring import Numbers, Ring
from vast.replay.state_checks import as_array, require

MAX_ACTIONS = 256
"""the limit of a transition table"""


class Fate(IntEnum):
    """What followed a frame."""

    OPEN = 0
    """nothing yet: the newest frame of the current episode"""
    CONTINUED = 1
    """an action and a reward that led to the next frame"""
    TERMINAL = 2
    """an action and a reward that terminated the episode; no frame is stored after it"""
    TRUNCATED = 3
    """nothing: the episode was truncated here, and the state is not terminal"""


COLUMNS: dict[str, np.dtype[Any]] = {
    "episode": np.dtype(np.int64),
    "action": np.dtype(np.uint8),
    "reward": np.dtype(np.float64),
    "fate": np.dtype(np.uint8),
}
"""columns stored per frame; action and reward are those that *followed* it, 0 if none did"""


class Episodes:
    """The episode and the fate of each frame; frames and episodes have absolute numbers."""

    def __init__(self, ring: Ring, n_actions: int) -> None:
        if not 1 <= n_actions <= MAX_ACTIONS:
            raise ValueError(f"n_actions must be between 1 and {MAX_ACTIONS}, got {n_actions}")
        self.ring = ring
        self.n_actions = n_actions
        self.count = 0
        """episodes begun since the replay was created"""
        self.episode = np.zeros(ring.capacity, np.int64)
        self.action = np.zeros(ring.capacity, np.uint8)
        self.reward = np.zeros(ring.capacity, np.float64)
        self.fate = np.zeros(ring.capacity, np.uint8)
        # An episode has at least one frame, so a ring of the same size can hold the starts.
        self._start = np.zeros(ring.capacity, np.int64)

    @property
    def is_open(self) -> bool:
        """Whether an episode is in progress."""
        return len(self.ring) > 0 and self.fate[self.ring.slot(self.ring.newest)] == Fate.OPEN

    def require_open(self) -> None:
        """Raise ValueError unless an episode is in progress."""
        if not self.is_open:
            raise ValueError("no episode is in progress: call begin with its first observation")

    def check_step(self, action: int, reward: float) -> tuple[int, float]:
        """Return a valid action and reward; ValueError if one is not."""
        try:
            a = operator.index(action)
        except TypeError:
            raise ValueError(f"action must be an integer, got {action!r}") from None
        if not 0 <= a < self.n_actions:
            raise ValueError(f"action must be between 0 and {self.n_actions - 1}, got {a}")
        r = float(reward)
        if not math.isfinite(r):
            raise ValueError(f"reward must be a finite number, got {r}")
        return a, r

    def open_frame(self, number: int, *, begins: bool) -> None:
        """Note a new frame: the first of an episode, or the next of the current one."""
        if begins:
            self._start[self.ring.slot(self.count)] = number
            self.count += 1
        slot = self.ring.slot(number)
        self.episode[slot] = self.count - 1
        self.action[slot] = self.reward[slot] = 0
        self.fate[slot] = Fate.OPEN

    def close_frame(self, number: int, fate: Fate, action: int = 0, reward: float = 0.0) -> None:
        """Note what followed a frame."""
        slot = self.ring.slot(number)
        self.action[slot], self.reward[slot], self.fate[slot] = action, reward, fate

    def starts(self, numbers: Numbers) -> Numbers:
        """Return the first frame, stored or evicted, of the episode of each frame."""
        return self._start[self.ring.slot(self.episode[self.ring.slot(numbers)])]

    def ends(self, numbers: Numbers) -> Numbers:
        """Return the number after the last stored frame of the episode of each frame."""
        following = self.episode[self.ring.slot(numbers)] + 1
        newest = following == self.count
        return np.where(newest, self.ring.end, self._start[self.ring.slot(following)])

    def starts_from(self, number: int) -> Numbers:
        """Return, for each episode with frames from `number` on, the first of these frames."""
        if number == self.ring.end:
            return np.zeros(0, np.int64)
        first = int(self.episode[self.ring.slot(number)])
        starts = self._start[self.ring.slot(np.arange(first, self.count))]
        return np.maximum(starts, number)

    def complete_from(self, back: int) -> int:
        """Return the first frame from which on all frames have the `back` frames before them.

        Frames before the start of an episode are blank, not missing. So only the oldest episode can
        lack frames, if its beginning was evicted.
        """
        oldest = np.array([self.ring.oldest])
        if not len(self.ring) or self.starts(oldest)[0] == oldest[0]:
            return self.ring.oldest
        return int(min(oldest[0] + back, self.ends(oldest)[0]))

    # --- saving -----------------------------------------------------------------------------------

    def state(self) -> dict[str, NDArray[Any]]:
        """Return copies of all columns of the stored frames, oldest first."""
        slots = self.ring.slot(self.ring.numbers())
        episodes = np.arange(self.episode[slots[0]] if len(slots) else 0, self.count)
        columns = {name: getattr(self, name)[slots] for name in COLUMNS}
        return {**columns, "start": self._start[self.ring.slot(episodes)]}

    def restored(self, ring: Ring, saved: Mapping[str, Any]) -> "Episodes":
        """Return the saved episodes; ValueError if they are inconsistent."""
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
        # The next frame is in the same episode if this one continued, otherwise in the next.
        require((np.diff(episode) == (fate[:-1] != Fate.CONTINUED)).all(), "episode")
        if len(ring):
            first = ring.numbers()[1:][np.diff(episode) == 1]
            require(starts.shape == (len(first) + 1,) and (starts[1:] == first).all(), "start")
            # Each earlier episode had at least one frame; there is none if this one starts at 0.
            require(0 <= episode[0] <= starts[0] <= ring.oldest, "start")
            require((episode[0] == 0) == (starts[0] == 0), "start")
            new.count = int(episode[-1]) + 1
            new._start[ring.slot(np.arange(episode[0], new.count))] = starts
        else:
            require(starts.shape == (0,), "start")
        return new
