"""What the minds of all baselines have in common: the order of calls, chance and exploration."""

import math
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from vast.agents.config import MindConfig
from vast.agents.seen import Seen
from vast.training.exploration import explores, greedy
from vast.training.protocol import FrameStore, State
from vast.training.tally import Tally

VERSION = 1

Values = NDArray[np.float64]


class GreedyPolicy:
    """Takes the best action by Q-values that it only reads, a random one in a share of steps."""

    def __init__(
        self,
        values: Callable[[NDArray[Any]], Values],
        n_actions: int,
        seen: Seen,
        epsilon: float,
        rng: np.random.Generator,
    ) -> None:
        self._values, self._n_actions, self._seen = values, n_actions, seen
        self._epsilon, self._rng = epsilon, rng

    def begin(self, observation: ArrayLike) -> None:
        """See the first observation of an episode."""
        self._seen.begin(observation)

    def act(self) -> int:
        """Choose an action."""
        if explores(self._epsilon, self._rng):
            return int(self._rng.integers(self._n_actions))
        return greedy(self.q_values(), self._rng)

    def q_values(self) -> Values:
        """Return what each action is worth."""
        return self._values(self._seen.frames)

    def observe(self, observation: ArrayLike, action: int | None = None) -> None:
        """See what came of an action; which one makes no difference here."""
        self._seen.see(observation)


class Mind(ABC):
    """An agent behind the protocol of `vast.training.protocol`; what it learns is up to each kind.

    A terminal frame is never seen: it has no value, and nothing is done there.
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        dtype: DTypeLike,
        n_actions: int,
        config: MindConfig,
        seed: np.random.SeedSequence,
    ) -> None:
        if n_actions < 1:
            raise ValueError(f"n_actions {n_actions}: allowed is 1 or more")
        self.n_actions = n_actions
        self.steps = 0
        self._common = config
        self._arriving = tuple(shape), np.dtype(dtype)
        self._seen = self._new_seen()
        self.shape, self.dtype = self._seen.shape, np.dtype(dtype)
        """of a frame as it is seen"""
        self._rng = np.random.default_rng(seed)
        self._tally = Tally()
        self._in_episode = False

    # --- living -----------------------------------------------------------------------------------

    @property
    def frame_store(self) -> FrameStore | None:
        """Where its frames are, if it keeps any."""
        return None

    def begin(self, observation: ArrayLike) -> None:
        """See the first observation of an episode."""
        if self._in_episode:
            raise ValueError("an episode is going on: observe its end or cut it first")
        self._seen.begin(observation)
        self._in_episode = True
        self._begun()

    def decide(self) -> int:
        """Choose the next action, exploring as the schedule says."""
        self._require_episode()
        epsilon = self._epsilon
        self.steps += 1
        if explores(epsilon, self._rng):
            return int(self._rng.integers(self.n_actions))
        return greedy(self._values_to_act_on(), self._rng)

    def observe(
        self,
        action: int,
        reward: float,
        observation: ArrayLike,
        terminated: bool,
        truncated: bool,
    ) -> None:
        """Learn what an action, whoever decided it, has brought."""
        self._require_episode()
        a, r = operator.index(action), float(reward)
        if not 0 <= a < self.n_actions:
            raise ValueError(f"action {a}: allowed is 0 to {self.n_actions - 1}")
        if not math.isfinite(r):
            raise ValueError(f"reward {r}: allowed are finite numbers")
        if terminated:
            self._terminated(a, r)
            self._in_episode = False
        else:
            self._seen.see(observation)
            self._stepped(a, r)
            if truncated:
                self.cut()

    def train(self) -> bool:
        """Do one training step if one is due: never, unless a kind says otherwise."""
        return False

    def cut(self) -> None:
        """Take note that the episode is abandoned here, as if truncated."""
        if self._in_episode:
            self._cut_off()
            self._in_episode = False

    def policy(self, epsilon: float, rng: np.random.Generator) -> GreedyPolicy:
        """Return the present policy, random in a share `epsilon` of steps, with its own chance."""
        return GreedyPolicy(self.values, self.n_actions, self._new_seen(), epsilon, rng)

    def close(self) -> None:
        """End what runs in the background: nothing, unless a kind says otherwise."""
        return

    def metrics(self) -> dict[str, float]:
        """Return what was measured since the last call, by name."""
        return {"agent/epsilon": self._epsilon, **self._sizes(), **self._tally.means()}

    def facts(self) -> dict[str, float]:
        """Return a few numbers to show while it learns, in words for people."""
        return {"epsilon": self._epsilon}

    # --- what each kind says of itself ------------------------------------------------------------

    @abstractmethod
    def values(self, seen: NDArray[Any]) -> Values:
        """Return Q(s, a) of what is seen, [k + 1, *shape], for each action; leave no trace."""

    @abstractmethod
    def _stepped(self, action: int, reward: float) -> None:
        """Take in a step that led to what is seen now."""

    @abstractmethod
    def _terminated(self, action: int, reward: float) -> None:
        """Take in the last step of an episode; what is seen now is what was seen before it."""

    def _begun(self) -> None:
        """Take in the first frame of an episode, which is seen now."""
        return

    def _cut_off(self) -> None:
        """Take in that the episode ended here without being at an end."""
        return

    def _sizes(self) -> dict[str, float]:
        """Return how large it has become, for the metrics."""
        return {}

    def _values_to_act_on(self) -> Values:
        """Return the values for a decision of its own, which may leave traces."""
        return self.values(self._seen.frames)

    # --- saving -----------------------------------------------------------------------------------

    def state_dict(self) -> State:
        """Return all that the future depends on, but for the frames."""
        return {
            "version": VERSION,
            "agent": type(self).__name__,
            "n_actions": self.n_actions,
            "steps": self.steps,
            "in_episode": int(self._in_episode),
            "rng": self._rng.bit_generator.state,
            "seen": self._seen.frames.copy(),
            "tally": self._tally.state_dict(),
            **self._own_state(),
        }

    def load_state_dict(
        self, state: Mapping[str, Any], frames: Iterable[Mapping[str, Any]] = ()
    ) -> None:
        """Become the saved agent; `frames` are pieces from `frames_since`, oldest first.

        ValueError if it does not fit; the agent is then of no more use.
        """
        mine = {"version": VERSION, "agent": type(self).__name__, "n_actions": self.n_actions}
        for name, value in mine.items():
            if state.get(name) != value:
                raise ValueError(f"saved agent: {name} is {state.get(name)!r}, here it is {value}")
        try:
            self._load_own_state(state, frames)
            self._seen.load(state["seen"])
            self._tally.load_state_dict(state["tally"])
            self._rng.bit_generator.state = state["rng"]
            self.steps = int(state["steps"])
            self._in_episode = bool(state["in_episode"])
        except KeyError as error:
            raise ValueError(f"saved agent: {error.args[0]} is missing") from None

    @abstractmethod
    def _own_state(self) -> State:
        """Return what this kind has learned."""

    @abstractmethod
    def _load_own_state(
        self, state: Mapping[str, Any], frames: Iterable[Mapping[str, Any]]
    ) -> None:
        """Become what was learned."""

    # --- inside -----------------------------------------------------------------------------------

    @property
    def _epsilon(self) -> float:
        return self._common.exploration.epsilon_at(self.steps)

    def _new_seen(self) -> Seen:
        return Seen(*self._arriving, self._common.history, self._common.resize)

    def _require_episode(self) -> None:
        if not self._in_episode:
            raise ValueError("no episode is going on: call begin with its first observation")
