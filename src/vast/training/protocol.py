"""What the training loop, checkpoints and test epochs know of an agent and of an experiment."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import gymnasium
import numpy as np
from numpy.typing import NDArray

from vast.replay.poses import Pose as Pose

Env = gymnasium.Env[Any, Any]

Observation = NDArray[Any]
"""an image of bytes, [rows, columns, channels], or a vector of floats"""
StateDict = dict[str, Any]
"""what is saved: arrays, numbers, strings, None, lists of these, and dictionaries of all by name"""


class FrameStore(Protocol):
    """Frames by number, of which a checkpoint writes only those added since the last one."""

    @property
    def oldest(self) -> int:
        """The number of the oldest frame stored."""
        ...

    @property
    def end(self) -> int:
        """The number of the next frame."""
        ...

    def frames_since(self, number: int, limit: int | None = None) -> StateDict:
        """Return the frames from `number` on, at most `limit`."""
        ...


@dataclass(frozen=True)
class Experience:
    """One environment step as an agent observes it."""

    observation: Any
    action: int
    reward: float
    next_observation: Any
    terminated: bool
    truncated: bool
    pose: Pose | None = None
    """of the observation"""
    next_pose: Pose | None = None


class Intervention(Protocol):
    """Something that happens once, at a given step of an experiment."""

    def check(self, env: Env) -> None:
        """Raise UserError if it cannot happen in this environment."""
        ...

    def apply(self, env: Env, observe: Callable[[Experience], None]) -> None:
        """Change the environment; pass to `observe` what the agent is to learn from."""
        ...


class Policy(Protocol):
    """How an agent acts without learning: it remembers the episode and leaves the agent alone."""

    def begin(self, observation: Observation) -> None:
        """Start an episode with its first observation."""
        ...

    def act(self) -> int:
        """Choose an action."""
        ...

    def q_values(self) -> NDArray[np.float64]:
        """Return Q(s, a) of each action at the current observation."""
        ...

    def observe(self, observation: Observation, action: int | None = None) -> None:
        """See what followed the action chosen last, or `action` if another one was taken."""
        ...


class Trainable(Protocol):
    """An agent as the training loop sees it.

    The loop calls `begin`, then `decide`, `observe` and `train` in turn until `observe` reports the
    end of the episode. If the environment lost the step, `cut` takes the place of `observe`: the
    decision counts, and there is nothing to learn from. The agent decides when to train by its own
    schedule, which counts decisions and does not know how long the run will be. It may also observe
    steps that it did not decide: it learns from these, and does not count them.
    """

    steps: int
    """environment steps: decisions taken"""

    @property
    def burst_left(self) -> int:
        """Training steps left of a burst, during which no environment step is taken."""
        ...

    @property
    def frame_store(self) -> FrameStore | None:
        """Where its frames are, if it keeps any; a checkpoint saves them apart from its state."""
        ...

    def begin(self, observation: Observation, pose: Pose | None = None) -> None:
        """Start an episode with its first observation.

        A pose is stored beside the frame, for analysis; no decision depends on it.
        """
        ...

    def decide(self) -> int:
        """Choose the next action, exploring by the schedule."""
        ...

    def observe(
        self,
        action: int,
        reward: float,
        observation: Observation,
        terminated: bool,
        truncated: bool,
        pose: Pose | None = None,
    ) -> None:
        """Learn from one step, whoever decided it."""
        ...

    def train(self) -> bool:
        """Do one training step if one is due; return whether more are due before the next step.

        If none is due, the call changes nothing.
        """
        ...

    def cut(self) -> None:
        """Abandon the episode here, as if it were truncated; without an episode do nothing."""
        ...

    def policy(self, epsilon: float = 0.0, seed: int | np.random.Generator = 0) -> Policy:
        """Return the current epsilon-greedy policy, with a random generator of its own."""
        ...

    def metrics(self) -> dict[str, float]:
        """Return what was measured since the last call, by the names of docs/runs.md."""
        ...

    def progress_stats(self) -> dict[str, float]:
        """Return a few statistics to show beside the progress bar."""
        ...

    def identity(self) -> StateDict:
        """Return what a checkpoint must agree with to belong to this agent."""
        ...

    def state_dict(self) -> StateDict:
        """Return everything that the future depends on except the frames."""
        ...

    def load_state_dict(
        self, state: Mapping[str, Any], frames: Iterable[Mapping[str, Any]] = ()
    ) -> None:
        """Restore a saved agent; `frames` are pieces from `frames_since`, oldest first."""
        ...

    def close(self) -> None:
        """Stop background work."""
        ...
