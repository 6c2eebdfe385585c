"""The seam for what is ours and not the paper's: how an extension changes a table agent.

Without extensions an agent has the paper's states, table and decisions. The extensions of VaST are
in `vast.agents.vast.extensions`, one file each.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from vast.replay import TransitionBatch
from vast.training.protocol import Observation, StateDict

Codes = NDArray[np.uint64]
Values = NDArray[np.float64]
LastActions = Sequence[tuple[NDArray[np.uint8], NDArray[np.bool_]]]
"""the actions before some frames, those that led to them first: which, and where one is known;
it ends where none is known"""


class ActionValues(NamedTuple):
    """The values of the actions in a state, as the table estimates them."""

    q: Values
    distances: NDArray[np.int64]
    """Hamming distance from which each value comes, -1 if the action was never taken anywhere"""


class Extension:
    """The hooks of an extension; each does nothing unless it is overridden."""

    def __init_subclass__(cls) -> None:
        recording = {"record", "begin_episode"} & cls.__dict__.keys()
        if recording and cls.for_policy is Extension.for_policy:
            # Otherwise a test epoch would change what the learning agent has recorded.
            raise TypeError(f"{cls.__name__} must also override for_policy")

    # --- states -----------------------------------------------------------------------------------

    @property
    def actions_needed(self) -> int:
        """How many of the last actions before a frame `tag` wants to be given."""
        return 0

    def tag(self, codes: Codes, last: LastActions) -> Codes:
        """Return the states of codes, given the last actions before them."""
        return codes

    def retag(self, codes: Codes, states: Codes) -> Codes:
        """Return the states of new codes of frames that had these states before."""
        return codes

    # --- transitions ------------------------------------------------------------------------------

    def revise(self, added: TransitionBatch, deleted: TransitionBatch) -> None:
        """See transitions that were added to and deleted from the table."""

    def on_tabulated(self, added: TransitionBatch) -> None:
        """See transitions that were added for the first time, not because a state was revised."""

    # --- decisions --------------------------------------------------------------------------------

    def estimate(self, state: int, learning: bool) -> ActionValues | None:
        """Return an estimate of Q in place of the table's; None to leave it."""

    def adjust(self, q: Values, state: int, observation: Observation) -> Values:
        """Return the values by which to choose an action."""
        return q

    def record(self, state: int, observation: Observation, action: int) -> None:
        """See the greedy action that was chosen."""

    def begin_episode(self) -> None:
        """Forget what was recorded in the last episode."""

    def for_policy(self) -> Self:
        """Return the extension for a policy: a fresh copy, if it records what is chosen."""
        return self

    # --- saving -----------------------------------------------------------------------------------

    def state_dict(self) -> StateDict:
        """Return what cannot be recomputed from table and replay."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a saved state."""


class Extensions(Extension):
    """Several extensions as one, applied in their order."""

    def __init__(self, parts: Sequence[Extension] = ()) -> None:
        self.parts = list(parts)

    @property
    def actions_needed(self) -> int:
        """As many as the extension that wants most."""
        return max((part.actions_needed for part in self.parts), default=0)

    def tag(self, codes: Codes, last: LastActions) -> Codes:
        """Let every extension tag the codes."""
        for part in self.parts:
            codes = part.tag(codes, last)
        return codes

    def retag(self, codes: Codes, states: Codes) -> Codes:
        """Let every extension tag the new codes."""
        for part in self.parts:
            codes = part.retag(codes, states)
        return codes

    def revise(self, added: TransitionBatch, deleted: TransitionBatch) -> None:
        """Show every extension what was added and deleted."""
        for part in self.parts:
            part.revise(added, deleted)

    def on_tabulated(self, added: TransitionBatch) -> None:
        """Show every extension what is new in the table."""
        for part in self.parts:
            part.on_tabulated(added)

    def estimate(self, state: int, learning: bool) -> ActionValues | None:
        """Return the first estimate that an extension gives."""
        found = (part.estimate(state, learning) for part in self.parts)
        return next((estimate for estimate in found if estimate is not None), None)

    def adjust(self, q: Values, state: int, observation: Observation) -> Values:
        """Let every extension adjust the values."""
        for part in self.parts:
            q = part.adjust(q, state, observation)
        return q

    def record(self, state: int, observation: Observation, action: int) -> None:
        """Show every extension what was chosen."""
        for part in self.parts:
            part.record(state, observation, action)

    def begin_episode(self) -> None:
        """Start a new episode in every extension."""
        for part in self.parts:
            part.begin_episode()

    def for_policy(self) -> "Extensions":
        """Return every extension for a policy."""
        return Extensions([part.for_policy() for part in self.parts])

    def state_dict(self) -> StateDict:
        """Return the states of the extensions by their names."""
        return {type(part).__name__: part.state_dict() for part in self.parts}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore every extension."""
        for part in self.parts:
            part.load_state_dict(state[type(part).__name__])
