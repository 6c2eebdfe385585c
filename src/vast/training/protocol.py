"""What the training loop, checkpoints and test epochs know of an agent, and of experiments."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import gymnasium
import numpy as np
from numpy.typing import NDArray

Env = gymnasium.Env[Any, Any]

Observation = NDArray[Any]
"""an image of bytes, [rows, columns, channels], or a vector of floats"""
State = dict[str, Any]
"""what is saved: arrays, numbers, strings, None, lists of these, and dictionaries of all by name"""


class FrameStore(Protocol):
    """Frames by number, of which a checkpoint writes only those that came since the last one."""

    @property
    def oldest(self) -> int:
        """The number of the oldest frame stored."""
        ...

    @property
    def end(self) -> int:
        """The number that the next frame will have."""
        ...

    def frames_since(self, number: int, limit: int | None = None) -> State:
        """Return the frames from `number` on, up to `limit`."""
        ...


@dataclass(frozen=True)
class Transition:
    """One step as an agent learns from it."""

    observation: Any
    action: int
    reward: float
    next_observation: Any
    terminated: bool
    truncated: bool
    info: dict[str, Any]
    """of the next observation"""


Observe = Callable[[Transition], None]
"""how an agent is handed a transition it did not choose"""


class Intervention(Protocol):
    """Something that happens once, at a step of an experiment."""

    def check(self, env: Env) -> None:
        """Raise UserError if it cannot happen in this environment."""
        ...

    def apply(self, env: Env, observe: Observe) -> None:
        """Do it to the environment; hand the agent what it is to learn from."""
        ...


class Policy(Protocol):
    """How an agent acts when nobody learns: it may remember what it saw, but leaves no trace."""

    def begin(self, observation: Observation) -> None:
        """See the first observation of an episode."""
        ...

    def act(self) -> int:
        """Choose an action."""
        ...

    def q_values(self) -> NDArray[np.float64]:
        """Return what each action is worth."""
        ...

    def observe(self, observation: Observation, action: int | None = None) -> None:
        """See what came of the action chosen last, or of another that was taken instead."""
        ...


class Agent(Protocol):
    """Something that lives through one episode after another and learns from them.

    Its calls alternate: `begin`, then `decide`, `observe` and `train` again and again; when
    `observe` was told that the episode ended, `begin` comes next. When it trains is the affair of
    its own schedule, which counts the decisions taken and knows of no end. It can also be shown
    steps that it did not decide: these are observed, and not counted.
    """

    steps: int
    """environment steps: decisions taken"""

    @property
    def frame_store(self) -> FrameStore | None:
        """Where its frames are, if it keeps any; they are saved apart from its state."""
        ...

    def begin(self, observation: Observation) -> None:
        """See the first observation of an episode."""
        ...

    def decide(self) -> int:
        """Choose the next action, exploring as the schedule says."""
        ...

    def observe(
        self,
        action: int,
        reward: float,
        observation: Observation,
        terminated: bool,
        truncated: bool,
    ) -> None:
        """Learn what an action, whoever decided it, has brought."""
        ...

    def train(self) -> bool:
        """Do one training step if one is due; return whether more are due before the next step.

        When none is due any more, another call changes nothing.
        """
        ...

    def cut(self) -> None:
        """Take note that the episode is abandoned here, as if truncated."""
        ...

    def policy(self, epsilon: float, rng: np.random.Generator) -> Policy:
        """Return the present policy, random in a share `epsilon` of steps, with its own chance."""
        ...

    def metrics(self) -> dict[str, float]:
        """Return what was measured since the last call, by the names of docs/runs.md."""
        ...

    def facts(self) -> dict[str, float]:
        """Return a few numbers to show while it learns, in words for people."""
        ...

    def state_dict(self) -> State:
        """Return all that the future depends on, but for the frames."""
        ...

    def load_state_dict(
        self, state: Mapping[str, Any], frames: Iterable[Mapping[str, Any]]
    ) -> None:
        """Become the saved agent; `frames` are pieces from `frames_since`, oldest first."""
        ...

    def close(self) -> None:
        """End what runs in the background."""
        ...
