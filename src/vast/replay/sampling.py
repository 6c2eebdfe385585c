"""Minibatches, segments and histories for training and encoding, and a cursor over all frames."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vast.replay.episodes import Episodes, Fate
from vast.replay.frames import Frames
from vast.replay.ring import Numbers, require_count

Flags = NDArray[np.bool_]


class Minibatch(NamedTuple):
    """Samples (o[j-k-1 : j], a_j) of Algorithm 1, line 16."""

    frames: NDArray[Any]
    """[B, k + 2, *shape], blank (zero) before the start of the episode"""
    actions: NDArray[np.int64]
    """[B], a_j, which led from frame j - 1 to frame j; 0 if j is the first of its episode"""
    first: Flags
    """[B], whether j is the first of its episode, which trains the initial distribution"""
    numbers: Numbers
    """[B, 2], the frame numbers j - 1 and j"""
    valid: Flags
    """[B, 2], whether the frame exists: j - 1 does not if j is the first of its episode"""


class Segments(NamedTuple):
    """Segments of consecutive frames, so that one encoding of a frame serves as s_j and s_(j-1).

    Position p of a segment, from 0 to `length`, is a frame; `frames[:, p : p + k + 1]` is its
    history. Positions 1 to `length` are trained on, each with the previous one as predecessor.
    """

    frames: NDArray[Any]
    """[S, k + 1 + length, *shape], blank (zero) outside the episode"""
    actions: NDArray[np.int64]
    """[S, length], the action that led to each position from 1 on; 0 where `step` is false"""
    trained: Flags
    """[S, length], whether the position, from 1 on, is a frame to train on"""
    first: Flags
    """[S, length], whether that frame is the first of its episode"""
    step: Flags
    """[S, length], whether it has a predecessor: `trained` and not `first`"""
    numbers: Numbers
    """[S, length + 1], the frame number of each position"""
    valid: Flags
    """[S, length + 1], whether the frame exists and has its history"""


class Steps(NamedTuple):
    """Steps (o[i-k : i], a, r, o[i-k+1 : i+1]) from given frames i, for learning from rewards."""

    frames: NDArray[Any]
    """[n, k + 2, *shape], o[i-k : i+1], blank (zero) outside the episode; the first k + 1 frames
    are the observation, the last k + 1 the next observation"""
    actions: NDArray[np.int64]
    """[n], the action taken at frame i"""
    rewards: NDArray[np.float64]
    """[n], its reward"""
    terminals: Flags
    """[n], whether it ended the episode: the next frame is then blank, and its value is 0"""


class Sampler:
    """Reads frames with their histories, never across episodes."""

    def __init__(self, frames: Frames, episodes: Episodes, history: int) -> None:
        self._frames = frames
        self._episodes = episodes
        self._ring = episodes.ring
        self._history = history

    @property
    def encodable_from(self) -> int:
        """The first frame from which on o[i-k : i] is stored for every frame i."""
        return self._episodes.complete_from(self._history)

    @property
    def sampleable_from(self) -> int:
        """The first frame from which on o[j-k-1 : j] is stored for every frame j."""
        return self._episodes.complete_from(self._history + 1)

    def histories(self, numbers: ArrayLike) -> NDArray[Any]:
        """Return o[i-k : i] for each frame i, as [n, k + 1, *shape]."""
        return self._read(self._with_history(numbers), np.arange(-self._history, 1))

    def _with_history(self, numbers: ArrayLike) -> Numbers:
        """Return frame numbers as an array; ValueError if the history of one was evicted."""
        i = self._ring.stored(numbers)
        if (i < self.encodable_from).any():
            raise ValueError(
                f"frame must be {self.encodable_from} or more, got {i.min()}: frames of its "
                f"history of {self._history} were evicted"
            )
        return i

    def steps(self, numbers: ArrayLike) -> Steps:
        """Return the step taken at each frame."""
        i = self._with_history(numbers)
        slots = self._ring.slot(i)
        fate = self._episodes.fate[slots]
        none = (fate == Fate.OPEN) | (fate == Fate.TRUNCATED)
        if none.any():
            raise ValueError(
                f"frame must have an action, got {i[none][0]}: it is the last of its episode"
            )
        terminals = fate == Fate.TERMINAL
        window = i[:, None] + np.arange(-self._history, 2)
        blank = window < self._episodes.starts(i)[:, None]
        blank[:, -1] = terminals
        return Steps(
            frames=self._frames.read(window, blank=blank),
            actions=self._episodes.action[slots].astype(np.int64),
            rewards=self._episodes.reward[slots],
            terminals=terminals,
        )

    def minibatch(self, rng: np.random.Generator, size: int) -> Minibatch:
        """Sample frames j independently and uniformly, with replacement."""
        require_count("size", size)
        low = self._something_stored()
        j = rng.integers(low, self._ring.end, size)
        first = self._episodes.starts(j) == j
        numbers = np.stack([j - 1, j], axis=1)
        return Minibatch(
            frames=self._read(j, np.arange(-self._history - 1, 1)),
            actions=self._actions_to(j, ~first),
            first=first,
            numbers=numbers,
            valid=np.stack([~first, np.ones_like(first)], axis=1),
        )

    def segments(self, rng: np.random.Generator, count: int, length: int) -> Segments:
        """Sample segments of up to `length` frames to train on; every frame is equally likely.

        A segment may extend beyond either end of its episode, by up to length - 1 positions, which
        are masked. So every frame, including the first and the last, is in exactly `length` of the
        possible segments, even in short episodes. All segments are equally likely.
        """
        require_count("count", count)
        if length < 1:
            raise ValueError(f"length must be 1 or more, got {length}")
        low = self._something_stored()
        # A segment is identified by its earliest frame to train on, and by how many positions
        # before it begins: 0, or 1 to length - 1 if that frame is the earliest of its episode.
        starts = self._episodes.starts_from(low)
        n_inside = self._ring.end - low
        drawn = rng.integers(0, n_inside + len(starts) * (length - 1), count)
        overhang = np.maximum(drawn - n_inside, -1)
        hangs = overhang >= 0
        episode, before = np.divmod(np.maximum(overhang, 0), max(length - 1, 1))
        earliest = np.where(hangs, starts[np.where(hangs, episode, 0)], low + drawn)
        begin = earliest - np.where(hangs, before + 1, 0)

        start = self._episodes.starts(earliest)[:, None]
        end = self._episodes.ends(earliest)[:, None]
        numbers = begin[:, None] + np.arange(-1, length)
        inside = (numbers >= start) & (numbers < end)
        trained = (inside & (numbers >= low))[:, 1:]
        first = trained & (numbers == start)[:, 1:]
        step = trained & ~first
        window = begin[:, None] + np.arange(-1 - self._history, length)
        readable = (window >= np.maximum(start, self._ring.oldest)) & (window < end)
        return Segments(
            frames=self._frames.read(window, blank=~readable),
            actions=self._actions_to(numbers[:, 1:], step),
            trained=trained,
            first=first,
            step=step,
            numbers=numbers,
            valid=inside & (numbers >= self.encodable_from),
        )

    def _something_stored(self) -> int:
        if not len(self._ring):
            raise ValueError("the replay is empty: store a frame before sampling")
        return self.sampleable_from

    def _actions_to(self, numbers: Numbers, there: Flags) -> NDArray[np.int64]:
        """Return the action that led to each frame, 0 if there was none."""
        before = self._ring.slot(np.where(there, numbers - 1, 0))
        return np.where(there, self._episodes.action[before].astype(np.int64), 0)

    def _read(self, numbers: Numbers, offsets: Numbers) -> NDArray[Any]:
        """Return the frames at these offsets from each frame, blank before its episode."""
        window = numbers[:, None] + offsets
        return self._frames.read(window, blank=window < self._episodes.starts(numbers)[:, None])


class Cursor:
    """Cycles over all frames, so that each is encoded again from time to time.

    Not in the paper, where a frame is reassigned only when it is sampled. In a large replay that is
    rare, and the table lags behind the encoder.
    """

    def __init__(self, at: int = 0) -> None:
        self.at = at

    def advance(self, start: int, end: int, count: int) -> Numbers:
        """Return the next `count` numbers of start ... end - 1, cyclically, each at most once."""
        require_count("count", count)
        size = end - start
        if size == 0:
            return np.zeros(0, np.int64)
        at = self.at if start <= self.at < end else start
        numbers = start + (at - start + np.arange(min(count, size), dtype=np.int64)) % size
        # One past the last, not back at the start: new frames, if there are any, come next.
        self.at = int(numbers[-1]) + 1 if len(numbers) else at
        return numbers
