"""The replay memory: what an agent stores, samples and reassigns."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from vast.replay.assignments import Assignments, Revision
from vast.replay.episodes import COLUMNS, Episodes, Fate
from vast.replay.frames import Frames
from vast.replay.poses import POSE_BYTES, Pose, as_pose
from vast.replay.ring import Numbers, Ring, require_count
from vast.replay.sampling import Cursor, Minibatch, Sampler, Segments, Steps
from vast.replay.state_checks import as_number, require
from vast.replay.tables import Table, TransitionBatch, TransitionListener

VERSION = 1

BOOKKEEPING = sum(dtype.itemsize for dtype in COLUMNS.values()) + 8 + 8 + 1 + 1 + POSE_BYTES
"""bytes per frame beside the frame itself: columns, the start of its episode, its state, whether it
has one, whether its transition was forgotten, and its pose"""


class Replay:
    """Frames, episodes and state assignments, and a transition table consistent with them.

    The memory M of the paper's Algorithm 1. A frame is stored once, whatever the history. Its state
    can be assigned immediately or later. At any time the table holds the transitions between the
    states assigned here, except forgotten ones, plus those of frames already evicted.

    Args:
        capacity: the number of frames; at least history + 2.
        shape: the shape of one observation.
        n_actions: the number of actions, 1 to 256.
        dtype: the data type of an observation.
        history: k, the number of frames before the current one that the encoder sees.
        table: the table in which transitions are counted, initially empty; None for no table.
        listener: notified of every transition added to and deleted from the table, if given.
        compressed: store frames compressed, which needs less memory and more time.
        delete_evicted: delete a transition when the frame that it leaves is evicted.
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
        listener: TransitionListener | None = None,
        compressed: bool = False,
        delete_evicted: bool = False,
    ) -> None:
        if history < 0:
            raise ValueError(f"history must be 0 or more, got {history}")
        if capacity < history + 2:
            raise ValueError(
                f"capacity must be {history + 2} or more with a history of {history}, "
                f"got {capacity}"
            )
        self.capacity = capacity
        self.history = history
        self.delete_evicted = delete_evicted
        ring = Ring(capacity)
        episodes = Episodes(ring, n_actions)
        frames = Frames(ring, shape, dtype, compressed)
        self._use(frames, episodes, Assignments(episodes, table, listener), Cursor())

    def _use(
        self, frames: Frames, episodes: Episodes, assignments: Assignments, cursor: Cursor
    ) -> None:
        self._ring = episodes.ring
        self._frames = frames
        self._episodes = episodes
        self._assignments = assignments
        self._sampler = Sampler(frames, episodes, self.history)
        self._cursor = cursor

    # --- storing experience -----------------------------------------------------------------------

    def begin(self, observation: ArrayLike, pose: Sequence[float] | None = None) -> int:
        """Store the first frame of a new episode; return its number.

        `pose` is (x, y, heading in degrees), nan for what is unknown; see `poses`.
        """
        if self._episodes.is_open:
            raise ValueError("an episode is in progress: call end_terminal or end_truncated first")
        return self._store(self._frames.check(observation), as_pose(pose), begins=True)

    def append(
        self,
        action: int,
        reward: float,
        observation: ArrayLike,
        pose: Sequence[float] | None = None,
    ) -> int:
        """Store an action, its reward and the next frame of the episode; return its number."""
        self._episodes.require_open()
        action, reward = self._episodes.check_step(action, reward)
        number = self._store(self._frames.check(observation), as_pose(pose), begins=False)
        self._episodes.close_frame(number - 1, Fate.CONTINUED, action, reward)
        return number

    def end_terminal(self, action: int, reward: float) -> None:
        """Store the last action and reward of an episode; the terminal frame is not stored."""
        self._episodes.require_open()
        action, reward = self._episodes.check_step(action, reward)
        self._assignments.close_terminal(self._ring.newest, action, reward)
        self._episodes.close_frame(self._ring.newest, Fate.TERMINAL, action, reward)

    def end_truncated(self) -> None:
        """End a truncated episode; its last frame must already have been appended."""
        self._episodes.require_open()
        self._episodes.close_frame(self._ring.newest, Fate.TRUNCATED)

    def _store(self, frame: NDArray[Any], pose: Pose | None, *, begins: bool) -> int:
        if self._ring.is_full and self.delete_evicted:
            self._assignments.delete_outgoing(self._ring.oldest)
        number = self._ring.end
        self._frames.write(number, frame, pose)
        self._assignments.open_frame(number)
        self._episodes.open_frame(number, begins=begins)
        self._ring.end += 1
        return number

    # --- states -----------------------------------------------------------------------------------

    def assign(self, numbers: ArrayLike, states: ArrayLike) -> Revision:
        """Assign frames their first states, and add the transitions that are now complete."""
        return self._assignments.assign(numbers, states)

    def reassign(self, numbers: ArrayLike, states: ArrayLike) -> Revision:
        """Assign frames new states, and revise the transitions of those that changed.

        `numbers` may contain a frame several times (its last state counts), adjacent frames, and
        frames without a state. `Revision.share` is the share of frames reassigned.
        """
        return self._assignments.reassign(numbers, states)

    def taken(self, state: int, action: int) -> TransitionBatch:
        """Return the transitions in the table with this state and action, oldest first.

        Transitions of evicted frames are not included.
        """
        return self._assignments.taken(state, action)

    def forget(self, numbers: ArrayLike) -> TransitionBatch:
        """Delete the transitions that leave these frames for good, and return them.

        The frames are still sampled and their states revised. Transitions that are not in the table
        yet are not affected.
        """
        return self._assignments.forget(numbers)

    def waiting(self, limit: int | None = None) -> Numbers:
        """Return the oldest `limit` frames without a state, all if None.

        Frames whose history was evicted before they were encoded are not included.
        """
        require_count("limit", limit)
        return self._assignments.waiting(self._sampler.encodable_from)[:limit]

    def states(self, numbers: ArrayLike) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
        """Return the state of each frame (0 if it has none), and whether it has one."""
        frames = self._ring.stored(numbers)
        return self._assignments.states(frames), self._assignments.has_state(frames)

    def actions_before(
        self, numbers: ArrayLike, steps: int = 1
    ) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
        """Return the action taken some steps before each frame, and whether it is known (else 0).

        With one step, the action that led to the frame. It is unknown if the episode began later,
        or if its frame is no longer stored.
        """
        frames = self._ring.stored(numbers)
        before = frames - steps
        known = (before >= self.oldest) & (before >= self._episodes.starts(frames))
        actions = self._episodes.action[self._ring.slot(np.where(known, before, frames))]
        return np.where(known, actions, np.uint8(0)), known

    # --- reading ----------------------------------------------------------------------------------

    def frames(self, numbers: ArrayLike) -> NDArray[Any]:
        """Return frames by their numbers, [n, *shape]."""
        return self._frames.read(self._ring.stored(numbers))

    def poses(self, numbers: ArrayLike) -> NDArray[np.float64]:
        """Return the poses of frames, (x, y, heading in degrees) as [n, 3]; nan if not given.

        For analysis only: poses are never shown to the agent.
        """
        return self._frames.poses.read(self._ring.stored(numbers))

    @property
    def frame_shape(self) -> tuple[int, ...]:
        """Of one frame."""
        return self._frames.shape

    @property
    def has_frames(self) -> bool:
        """Whether its frames are here; they may have been left out of a file."""
        return self._frames.are_here

    def histories(self, numbers: ArrayLike) -> NDArray[Any]:
        """Return the encoder's input for each frame i, o[i-k : i] as [n, k + 1, *shape]."""
        return self._sampler.histories(numbers)

    def steps(self, numbers: ArrayLike) -> Steps:
        """Return the observation, action, reward and next observation of the step at each frame.

        ValueError for frames without a step: the newest frame of an episode in progress, and the
        last frame of a truncated one.
        """
        return self._sampler.steps(numbers)

    def sample(self, rng: np.random.Generator, size: int) -> Minibatch:
        """Sample a minibatch of (o[j-k-1 : j], a_j), j uniform over the frames with a history."""
        return self._sampler.minibatch(rng, size)

    def sample_segments(
        self, rng: np.random.Generator, count: int = 16, length: int = 8
    ) -> Segments:
        """Sample segments of consecutive steps; 16 of 8 need 144 encodings instead of 256."""
        return self._sampler.segments(rng, count, length)

    def next_frames(self, count: int) -> Numbers:
        """Return the next frames to encode again, cycling over all frames with a history."""
        return self._cursor.advance(self._sampler.encodable_from, self._ring.end, count)

    @property
    def oldest(self) -> int:
        """The number of the oldest frame stored; equal to `end` if there is none."""
        return self._ring.oldest

    @property
    def encodable_from(self) -> int:
        """The first frame from which on all frames have their history."""
        return self._sampler.encodable_from

    @property
    def end(self) -> int:
        """The number of the next frame: how many frames were ever stored."""
        return self._ring.end

    def __len__(self) -> int:
        return len(self._ring)

    @property
    def n_episodes(self) -> int:
        """How many episodes were ever begun."""
        return self._episodes.count

    @property
    def in_episode(self) -> bool:
        """Whether an episode is in progress."""
        return self._episodes.is_open

    def estimate_bytes(self) -> int:
        """Return the size of this replay in bytes when full.

        Raw: exact if poses are given, otherwise they take no memory but are counted here.
        Compressed: an upper bound while empty, then extrapolated from the stored frames.
        """
        return self._frames.estimate_bytes() + self.capacity * BOOKKEEPING

    # --- saving -----------------------------------------------------------------------------------

    def state_dict(self, *, frames: bool = True) -> dict[str, Any]:
        """Return the complete state, with or without the frames, as plain arrays and numbers."""
        return {
            **self._settings(),
            "end": self._ring.end,
            "cursor": self._cursor.at,
            **self._episodes.state(),
            **self._assignments.state(),
            **(self.frames_since(self._ring.oldest) if frames else {}),
        }

    def frames_since(self, number: int, limit: int | None = None) -> dict[str, Any]:
        """Return up to `limit` frames from `number` on, for an incremental checkpoint.

        If some were evicted meanwhile, the piece begins with the oldest stored; see "frames_first".
        """
        return self._frames.since(number, limit)

    def load_state_dict(
        self, state: Mapping[str, Any], frames: Iterable[Mapping[str, Any]] | None = None
    ) -> None:
        """Restore a saved replay; if it does not fit, raise ValueError and change nothing.

        `frames` are pieces from `frames_since`, oldest first, if `state` has no frames. The table
        is saved and loaded separately.
        """
        for name, mine in self._settings().items():
            theirs = state.get(name)
            if theirs is None or not np.array_equal(theirs, mine):
                raise ValueError(
                    f"saved replay: {name} must be {_plain(mine)!r}, got {_plain(theirs)!r}"
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
