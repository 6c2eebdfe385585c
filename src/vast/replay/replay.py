"""The replay memory: what an agent stores, samples and revises."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from vast.replay.assignments import Assignments, Revision
from vast.replay.episodes import COLUMNS, Episodes, Fate
from vast.replay.frames import Frames
from vast.replay.ring import Numbers, Ring, require_count
from vast.replay.sampling import Cursor, Minibatch, Sampler, Segments, Steps
from vast.replay.saved import as_number, require
from vast.replay.tables import Ledger, Table, Transitions

VERSION = 1

BOOKKEEPING = sum(dtype.itemsize for dtype in COLUMNS.values()) + 8 + 8 + 1 + 1
"""bytes per frame beside the frame itself: its episode's start, its state, whether it has one and
whether what followed is forgotten"""


class Replay:
    """Frames, episodes and state assignments, and a transition table kept in step with them.

    The memory M of the paper's Algorithm 1. A frame is stored once, whatever the history; its state
    may come at once or later. At any time the table's counts are those of the states assigned
    here, but for what was forgotten, plus those of frames already evicted.

    Args:
        capacity: how many frames there is room for; at least history + 2.
        shape: the shape of one observation.
        n_actions: how many actions there are, 1 to 256.
        dtype: the type of an observation's numbers.
        history: k, the number of frames before the current one that the encoder sees.
        table: where transitions are counted, empty to begin with; None if nowhere.
        ledger: what else is told of every transition counted and uncounted, if anything.
        compressed: keep frames compressed, for less memory and more time.
        delete_evicted: uncount a transition when the frame it leaves from is evicted.
    """

    def __init__(
        self,
        capacity: int,
        shape: tuple[int, ...],
        n_actions: int,
        *,
        dtype: DTypeLike = np.uint8,
        history: int = 0,
        table: Table | None = None,
        ledger: Ledger | None = None,
        compressed: bool = False,
        delete_evicted: bool = False,
    ) -> None:
        if history < 0:
            raise ValueError(f"history {history}: allowed is 0 or more")
        if capacity < history + 2:
            raise ValueError(
                f"capacity {capacity}: allowed is {history + 2} or more with a history of {history}"
            )
        self.capacity = capacity
        self.history = history
        self.delete_evicted = delete_evicted
        ring = Ring(capacity)
        episodes = Episodes(ring, n_actions)
        frames = Frames(ring, shape, dtype, compressed)
        self._use(frames, episodes, Assignments(episodes, table, ledger), Cursor())

    def _use(
        self, frames: Frames, episodes: Episodes, assignments: Assignments, cursor: Cursor
    ) -> None:
        self._ring = episodes.ring
        self._frames = frames
        self._episodes = episodes
        self._assignments = assignments
        self._sampler = Sampler(frames, episodes, self.history)
        self._cursor = cursor

    # --- experience -------------------------------------------------------------------------------

    def begin(self, observation: ArrayLike) -> int:
        """Store the first frame of a new episode; return its number."""
        if self._episodes.is_open:
            raise ValueError("an episode is going on: call end_terminal or end_truncated first")
        return self._store(self._frames.check(observation), begins=True)

    def append(self, action: int, reward: float, observation: ArrayLike) -> int:
        """Store a step: what was done, what it brought, what was then seen; return its number."""
        self._episodes.require_open()
        action, reward = self._episodes.check_step(action, reward)
        number = self._store(self._frames.check(observation), begins=False)
        self._episodes.close_frame(number - 1, Fate.CONTINUED, action, reward)
        return number

    def end_terminal(self, action: int, reward: float) -> None:
        """Store the last step of an episode; what is seen at its end is not stored."""
        self._episodes.require_open()
        action, reward = self._episodes.check_step(action, reward)
        self._assignments.close_terminal(self._ring.newest, action, reward)
        self._episodes.close_frame(self._ring.newest, Fate.TERMINAL, action, reward)

    def end_truncated(self) -> None:
        """End an episode that was cut off; its last frame has been appended and was no end."""
        self._episodes.require_open()
        self._episodes.close_frame(self._ring.newest, Fate.TRUNCATED)

    def _store(self, frame: NDArray[Any], *, begins: bool) -> int:
        if self._ring.is_full and self.delete_evicted:
            self._assignments.delete_outgoing(self._ring.oldest)
        number = self._ring.end
        self._frames.write(number, frame)
        self._assignments.open_frame(number)
        self._episodes.open_frame(number, begins=begins)
        self._ring.end += 1
        return number

    # --- states -----------------------------------------------------------------------------------

    def assign(self, numbers: ArrayLike, states: ArrayLike) -> Revision:
        """Give frames their first states, and count the transitions that are now complete."""
        return self._assignments.assign(numbers, states)

    def reassign(self, numbers: ArrayLike, states: ArrayLike) -> Revision:
        """Give frames new states, and move the transitions of those that changed.

        `numbers` may name a frame several times (the last state counts), neighbours, and frames
        that had no state yet. `Revision.share` is the share of frames reassigned.
        """
        return self._assignments.reassign(numbers, states)

    def taken(self, state: int, action: int) -> Transitions:
        """Return the transitions counted that left from a state by an action, oldest first.

        Those of frames that were evicted are not among them.
        """
        return self._assignments.taken(state, action)

    def forget(self, numbers: ArrayLike) -> Transitions:
        """Uncount what followed these frames, and return it; it is not counted ever again.

        The frames are still sampled, and their states revised. What is not counted yet stays.
        """
        return self._assignments.forget(numbers)

    def waiting(self, limit: int | None = None) -> Numbers:
        """Return the oldest `limit` frames without a state, all if None.

        Frames whose history was evicted before they were encoded are not among them.
        """
        require_count("limit", limit)
        return self._assignments.waiting(self._sampler.encodable_from)[:limit]

    def states(self, numbers: ArrayLike) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
        """Return the state of each frame, and whether it has one (if not, it is given as 0)."""
        frames = self._ring.stored(numbers)
        return self._assignments.states(frames), self._assignments.has_state(frames)

    def actions_before(self, numbers: ArrayLike) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
        """Return the action that led to each frame, and whether one is known (if not, it is 0).

        None led to the first frame of an episode; that to the oldest frame stored is forgotten.
        """
        frames = self._ring.stored(numbers)
        known = (frames > self.oldest) & (self._episodes.starts(frames) < frames)
        actions = self._episodes.action[self._ring.slot(np.where(known, frames - 1, frames))]
        return np.where(known, actions, np.uint8(0)), known

    # --- reading ----------------------------------------------------------------------------------

    def frames(self, numbers: ArrayLike) -> NDArray[Any]:
        """Return frames by their numbers, [n, *shape]."""
        return self._frames.read(self._ring.stored(numbers))

    def histories(self, numbers: ArrayLike) -> NDArray[Any]:
        """Return what the encoder sees of each frame i, o[i-k : i] as [n, k + 1, *shape]."""
        return self._sampler.histories(numbers)

    def steps(self, numbers: ArrayLike) -> Steps:
        """Return what was seen, done, earned and then seen at each frame; ValueError if nothing.

        Nothing was done at the newest frame of an episode that is going on or was cut off.
        """
        return self._sampler.steps(numbers)

    def sample(self, rng: np.random.Generator, size: int) -> Minibatch:
        """Draw a minibatch of (o[j-k-1 : j], a_j), j uniform over the frames that can be read."""
        return self._sampler.minibatch(rng, size)

    def sample_segments(
        self, rng: np.random.Generator, count: int = 16, length: int = 8
    ) -> Segments:
        """Draw runs of consecutive steps; 16 of 8 need 144 encodings instead of 256."""
        return self._sampler.segments(rng, count, length)

    def next_frames(self, count: int) -> Numbers:
        """Return the next frames to encode anew, in a circle over all that can be."""
        return self._cursor.advance(self._sampler.encodable_from, self._ring.end, count)

    @property
    def oldest(self) -> int:
        """The number of the oldest frame stored; equal to `end` if there is none."""
        return self._ring.oldest

    @property
    def encodable_from(self) -> int:
        """The first frame from which on histories are stored."""
        return self._sampler.encodable_from

    @property
    def end(self) -> int:
        """The number that the next frame will have: how many were stored since the beginning."""
        return self._ring.end

    def __len__(self) -> int:
        return len(self._ring)

    @property
    def n_episodes(self) -> int:
        """How many episodes were begun since the beginning."""
        return self._episodes.count

    @property
    def in_episode(self) -> bool:
        """Whether an episode is going on."""
        return self._episodes.is_open

    def estimate_bytes(self) -> int:
        """Return the memory that this replay takes when full.

        Exact if raw. Compressed, an upper bound while empty; then from the frames that are there.
        """
        return self._frames.estimate_bytes() + self.capacity * BOOKKEEPING

    # --- saving -----------------------------------------------------------------------------------

    def state_dict(self, *, frames: bool = True) -> dict[str, Any]:
        """Return all that the replay holds, or all but the frames, as plain arrays and numbers."""
        return {
            **self._settings(),
            "end": self._ring.end,
            "cursor": self._cursor.at,
            **self._episodes.state(),
            **self._assignments.state(),
            **(self.frames_since(self._ring.oldest) if frames else {}),
        }

    def frames_since(self, number: int, limit: int | None = None) -> dict[str, Any]:
        """Return the frames from `number` on, up to `limit`, for a checkpoint that adds only these.

        If some were evicted meanwhile, it begins with the oldest stored; see "frames_first".
        """
        return self._frames.since(number, limit)

    def load_state_dict(
        self, state: Mapping[str, Any], frames: Iterable[Mapping[str, Any]] | None = None
    ) -> None:
        """Become the saved replay; ValueError, and nothing changed, if it does not fit.

        `frames` are pieces from `frames_since`, oldest first, if `state` is without. The table is
        saved and loaded by itself.
        """
        for name, mine in self._settings().items():
            theirs = state.get(name)
            if theirs is None or not np.array_equal(theirs, mine):
                raise ValueError(
                    f"saved replay: {name} is {_plain(theirs)!r}, here it is {_plain(mine)!r}"
                )
        end, cursor = as_number(state, "end"), as_number(state, "cursor")
        require(0 <= end < 1 << 62, "end")
        require(0 <= cursor <= end, "cursor")
        ring = Ring(self.capacity, end)
        episodes = self._episodes.restored(ring, state)
        assignments = self._assignments.restored(episodes, state)
        stored = self._frames.restored(ring, [state] if frames is None else frames)
        self._use(stored, episodes, assignments, Cursor(cursor))

    def _settings(self) -> dict[str, Any]:
        return {
            "version": VERSION,
            "capacity": self.capacity,
            "history": self.history,
            "n_actions": self._episodes.n_actions,
            "delete_evicted": int(self.delete_evicted),
            "compressed": int(self._frames.compressed),
            "shape": np.array(self._frames.shape, np.int64),
            "dtype": self._frames.dtype.str,
        }


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value
