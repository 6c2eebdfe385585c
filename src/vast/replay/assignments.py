"""The state assigned to each frame, and the transitions that these states define.

Paper, section 2.3: transitions are counted in a table, "with counts that are revised during
training". If the observation of B in A -> B -> C is later assigned to D, then A -> B and B -> C are
deleted from the table, and A -> D and D -> C are added.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vast.replay.episodes import Episodes
from vast.replay.leaving import Columns, is_increasing, leaving, set_states
from vast.replay.ring import Numbers, Ring
from vast.replay.state_checks import as_array, require
from vast.replay.tables import (
    NO_TRANSITIONS,
    States,
    Table,
    TransitionBatch,
    TransitionListener,
    batched,
    revise,
)


class Revision(NamedTuple):
    """The changes made by an assignment of states to frames."""

    frames: int
    """number of distinct frames that had a state before"""
    changed: int
    """how many of these now have a different state"""
    added: TransitionBatch
    """transitions added to the table"""
    deleted: TransitionBatch
    """transitions deleted from the table"""

    @property
    def share(self) -> float:
        """The share of frames reassigned (supplement, Fig. S1D); 0 if there were none."""
        return self.changed / self.frames if self.frames else 0.0


class Assignments:
    """The state of each stored frame, and a table kept consistent with these states.

    The transition that leaves frame i is in the table if frame i and, unless the transition is
    terminal, frame i + 1 have states, and if it was not forgotten. It can be revised as long as
    frame i is stored.
    """

    def __init__(
        self, episodes: Episodes, table: Table | None, listener: TransitionListener | None = None
    ) -> None:
        self._episodes = episodes
        self._ring = episodes.ring
        self._table = table
        self._listener = listener
        self._batched = batched(table)
        self._state = np.zeros(self._ring.capacity, np.uint64)
        self._encoded = np.zeros(self._ring.capacity, np.bool_)
        self._forgotten = np.zeros(self._ring.capacity, np.bool_)  # deleted for good
        self._waiting_from = 0  # all frames before this one are encoded

    # --- new and evicted frames -------------------------------------------------------------------

    def open_frame(self, number: int) -> None:
        """Note a new frame, which has no state yet."""
        slot = self._ring.slot(number)
        self._state[slot], self._encoded[slot], self._forgotten[slot] = 0, False, False

    def close_terminal(self, number: int, action: int, reward: float) -> None:
        """Add the terminal transition that leaves a frame, if the frame has a state."""
        slot = self._ring.slot(number)
        if self._encoded[slot]:
            ends = TransitionBatch(
                states=self._state[slot : slot + 1].copy(),
                actions=np.array([action], np.uint8),
                rewards=np.array([reward]),
                next_states=np.zeros(1, np.uint64),
                terminals=np.ones(1, np.bool_),
                numbers=np.array([number]),
            )
            self._revise(ends, NO_TRANSITIONS)

    def delete_outgoing(self, number: int) -> None:
        """Delete the transition that leaves a frame, which is about to be evicted."""
        self._revise(NO_TRANSITIONS, self._leaving(np.array([number])))

    def forget(self, numbers: ArrayLike) -> TransitionBatch:
        """Delete the transitions that leave these frames for good; frames and states stay."""
        gone = self._leaving(np.unique(self._ring.stored(numbers)))
        self._revise(NO_TRANSITIONS, gone)
        self._forgotten[self._ring.slot(gone.numbers)] = True
        return gone

    # --- states -----------------------------------------------------------------------------------

    def has_state(self, numbers: Numbers) -> NDArray[np.bool_]:
        """Tell which frames have been encoded."""
        return self._encoded[self._ring.slot(numbers)]

    def states(self, numbers: Numbers) -> States:
        """Return the states of frames, 0 for those not yet encoded."""
        return self._state[self._ring.slot(numbers)]

    def taken(self, state: int, action: int) -> TransitionBatch:
        """Return the transitions in the table with this state and action, oldest first."""
        used = slice(len(self._ring))
        there = self._state[used] == np.uint64(state)
        there &= self._episodes.action[used] == action
        return self._leaving(self._ring.where(there))

    def waiting(self, start: int) -> Numbers:
        """Return the frames from `start` on that have no state yet."""
        numbers = self._ring.numbers(max(self._waiting_from, start, self._ring.oldest))
        numbers = numbers[~self.has_state(numbers)]
        # `start` only grows, so earlier frames are never needed again.
        self._waiting_from = int(numbers[0]) if len(numbers) else self._ring.end
        return numbers

    def assign(self, numbers: ArrayLike, states: ArrayLike) -> Revision:
        """Assign frames their first states; ValueError if one already has a state."""
        frames, new = self._checked(numbers, states)
        if not is_increasing(frames) or self.has_state(frames).any():
            distinct, counts = np.unique(frames, return_counts=True)
            again = distinct[(counts > 1) | self.has_state(distinct)]
            if len(again):
                raise ValueError(f"frame {again[0]} already has a state: use reassign")
        return self._set(frames, new)

    def reassign(self, numbers: ArrayLike, states: ArrayLike) -> Revision:
        """Assign frames new states, or their first (Algorithm 1, lines 23 to 29).

        Equivalent to going through the list in order, and deleting and adding the one or two
        transitions of each changed frame under the assignments at that moment. Transitions that
        this walk adds and later deletes cancel out. What remains are the transitions next to a
        changed frame: each is deleted as it was before and added as it is after.
        """
        return self._set(*self._checked(numbers, states))

    def _checked(self, numbers: ArrayLike, states: ArrayLike) -> tuple[Numbers, States]:
        frames = self._ring.stored(numbers)
        new = np.asarray(states)
        if new.size == 0:
            new = new.astype(np.uint64)
        if new.dtype != np.uint64 or new.shape != frames.shape:
            raise ValueError(
                f"states must be one uint64 for each of the {len(frames)} frames, "
                f"got shape {new.shape} and type {new.dtype}"
            )
        return frames, new

    def _set(self, numbers: Numbers, states: States) -> Revision:
        if not is_increasing(numbers):
            # If a frame is listed several times, its last state counts.
            numbers, last = np.unique(numbers[::-1], return_index=True)
            states = states[::-1][last]
        change = set_states(self._columns(), self._ring.oldest, numbers, states)
        try:
            self._revise(change.added, change.deleted)
        except Exception:
            slots = self._ring.slot(numbers)
            self._state[slots], self._encoded[slots] = change.states, change.encoded
            raise
        return Revision(change.frames, change.changed, change.added, change.deleted)

    def _revise(self, added: TransitionBatch, deleted: TransitionBatch) -> None:
        revise(self._batched, added, deleted)
        if self._listener is not None:
            self._listener.revise(added, deleted)

    def _leaving(self, frames: Numbers) -> TransitionBatch:
        """Return the transitions that leave these frames, where both of their states are known."""
        return leaving(self._columns(), frames)

    def _columns(self) -> Columns:
        episodes = self._episodes
        return Columns(
            self._state,
            self._encoded,
            self._forgotten,
            episodes.fate,
            episodes.action,
            episodes.reward,
        )

    # --- saving -----------------------------------------------------------------------------------

    def state(self) -> dict[str, NDArray[Any]]:
        """Return copies of the states of the stored frames, oldest first."""
        numbers = self._ring.numbers()
        return {
            "state": self.states(numbers),
            "encoded": self.has_state(numbers),
            "forgotten": self._forgotten[self._ring.slot(numbers)],
        }

    def restored(self, episodes: Episodes, saved: Mapping[str, Any]) -> "Assignments":
        """Return the saved assignments; the table is saved separately, and must match."""
        new = Assignments(episodes, self._table, self._listener)
        ring: Ring = episodes.ring
        state = as_array(saved, "state", np.dtype(np.uint64))
        encoded = as_array(saved, "encoded", np.dtype(np.bool_))
        require(state.shape == (len(ring),), "state")
        require(encoded.shape == (len(ring),) and not state[~encoded].any(), "encoded")
        forgotten = as_array(saved, "forgotten", np.dtype(np.bool_))
        require(forgotten.shape == (len(ring),) and not forgotten[~encoded].any(), "forgotten")
        slots = ring.slot(ring.numbers())
        new._state[slots], new._encoded[slots] = state, encoded
        new._forgotten[slots] = forgotten
        return new
