"""The core of all agents, as the training loop sees it: order of calls, exploration, resume."""

import math
import operator
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from vast.agents.config import require_parts
from vast.agents.frame_stack import FrameStack
from vast.agents.registry import IN_PROGRAMS, known_agents
from vast.checks import at_least
from vast.env_ids import made
from vast.errors import UserError
from vast.training.device import CPU, device_name, device_named
from vast.training.exploration import epsilon_greedy, greedy
from vast.training.plain import to_plain
from vast.training.protocol import Env, FrameStore, Pose, StateDict
from vast.training.running_means import RunningMeans
from vast.training.spaces import Spaces, spaces_of
from vast.training.trainer import Seeds, seeds_from

VERSION = 2
CUSTOM = "custom"
"""in place of a preset, where every hyperparameter was given"""
SIZES = ("states", "entries", "training steps")
"""of an agent, for a line about it: those among `progress_stats` that it has"""

Values = NDArray[np.float64]
SeedPair = tuple[np.random.SeedSequence, np.random.SeedSequence]


class AgentCore(ABC):
    """An agent that learns by interaction; subclasses say what it learns, and how it acts.

    Args:
        env: any Gymnasium environment with discrete actions, and images of bytes or vectors of
            floats as observations, or its id; or only its `Spaces`, for an agent driven by another
            loop.
        preset: "cpu", "paper" or "debug"; a task of this package has its own values in each.
        seed: the source of all randomness.
        config: every hyperparameter, instead of a preset.
        threads: of torch and NumPy while it learns.
        device: of its networks: "cpu", "cuda", "mps" or "auto", which is the first there is of
            cuda, mps and cpu. Agents without networks have no use for it.

    The training loop calls `begin`, `decide`, `observe` and `train`, in the order that
    `vast.training.protocol` describes. The observation at a terminal state is never used: nothing
    is done there, and its value is 0.
    """

    name: ClassVar[str]
    """by which the command and checkpoints know it"""
    config_class: ClassVar[type[Any]]
    config: Any
    max_reward = math.inf
    """the size of the largest reward from which it can learn"""

    def __init__(
        self,
        env: Env | Spaces | str,
        preset: str = "cpu",
        seed: int = 0,
        *,
        config: Any = None,
        threads: int = 1,
        device: str | torch.device = CPU,
    ) -> None:
        at_least(0, seed=seed)
        self.device = device_named(device)
        """where its networks are"""
        self.device_name = device_name(device)
        """as it was asked for, `auto` included"""
        self.env_id = env if isinstance(env, str) else None
        """by which it was told to make its environment"""
        if isinstance(env, str):
            env = made(env)
        spaces = env if isinstance(env, Spaces) else spaces_of(env)
        self.env = None if isinstance(env, Spaces) else env
        self.spaces = spaces
        if config is None:
            task = getattr(getattr(env, "unwrapped", None), "task_name", None)
            config = self._preset(preset, task if isinstance(task, str) else None)
        else:
            if not isinstance(config, self.config_class):
                raise UserError(f"config must be a {self.config_class.__name__}, got {config!r}")
            preset = CUSTOM
        require_parts(config)
        self.config = config
        self.preset = preset
        """that gave its hyperparameters"""
        self.seed, self.threads = seed, threads
        self.n_actions = spaces.n_actions
        self.steps = 0
        self._frames = self._new_frame_stack()
        self.shape = self._frames.shape
        """of a frame, after resizing"""
        seeds: Seeds = seeds_from(seed)
        deciding, *others = seeds.agent.spawn(3)
        self._rng = np.random.default_rng(deciding)
        self._user_rng = np.random.default_rng(seeds.acting)
        self._means = RunningMeans()
        self._in_episode = False
        self._build((others[0], others[1]))

    def _preset(self, name: str, task: str | None) -> Any:
        agents = {**known_agents(), **IN_PROGRAMS}
        if self.name not in agents:
            raise UserError(f"{type(self).__name__} has no presets: pass a config")
        return agents[self.name].preset(name, task, self.spaces.shape)

    @abstractmethod
    def _build(self, seeds: SeedPair) -> None:
        """Make the parts of this agent, from two seeds that it may use; called once."""

    # --- what the training loop calls -------------------------------------------------------------

    @property
    def frame_store(self) -> FrameStore | None:
        """Where its frames are, if it keeps any."""
        return None

    @property
    def burst_left(self) -> int:
        """Training steps left of a burst; most agents have none."""
        return 0

    def begin(self, observation: ArrayLike, pose: Pose | None = None) -> None:
        """Start an episode with its first observation; a pose is stored for analysis only."""
        if self._in_episode:
            raise ValueError("begin needs the last episode to be over: observe its end or call cut")
        self._frames.begin(observation)
        self._in_episode = True
        self._begun(pose)

    def decide(self) -> int:
        """Choose the next action, exploring by the schedule."""
        self._require_episode()
        epsilon = self._epsilon
        self.steps += 1
        return epsilon_greedy(epsilon, self.n_actions, self._rng, self._best_action)

    def observe(
        self,
        action: int,
        reward: float,
        observation: ArrayLike,
        terminated: bool,
        truncated: bool,
        pose: Pose | None = None,
    ) -> None:
        """Learn from one step, whoever decided it."""
        self._require_episode()
        a, r = operator.index(action), float(reward)
        if not 0 <= a < self.n_actions:
            raise UserError(f"action must be between 0 and {self.n_actions - 1}, got {a}")
        if not math.isfinite(r):
            raise UserError(f"reward must be finite, got {r}")
        if abs(r) > self.max_reward:
            raise UserError(f"reward must be at most {self.max_reward:g} in size, got {r}")
        if terminated:
            self._terminated(a, r)
            self._in_episode = False
        else:
            self._frames.push(observation)
            self._stepped(a, r, pose)
            if truncated:
                self.cut()

    def train(self) -> bool:
        """Do one training step if one is due; return whether more are due before the next step."""
        return False

    def cut(self) -> None:
        """Abandon the episode here, as if it were truncated; without an episode do nothing."""
        if self._in_episode:
            self._cut_off()
            self._in_episode = False

    def policy(self, epsilon: float = 0.0, seed: int | np.random.Generator = 0) -> "GreedyPolicy":
        """Return the current epsilon-greedy policy, with a random generator of its own."""
        return GreedyPolicy(self, epsilon, np.random.default_rng(seed))

    def metrics(self) -> dict[str, float]:
        """Return what was measured since the last call, by the names of docs/runs.md."""
        return {"agent/epsilon": self._epsilon, **self._sizes(), **self._means.means()}

    def progress_stats(self) -> dict[str, float]:
        """Return a few statistics to show beside the progress bar."""
        return {"epsilon": self._epsilon}

    def close(self) -> None:
        """Stop background work; an environment that was passed in is the user's to close."""
        if self.env_id is not None and self.env is not None:
            self.env.close()

    def __repr__(self) -> str:
        sizes = self.progress_stats()
        held = [f"{sizes[name]:,} {name}" for name in SIZES if name in sizes]
        said = ", ".join([f"{self.steps:,} steps", *held])
        return f"<{type(self).__name__} on {self._where()}: {said}>"

    def _where(self) -> str:
        """Return the task, the id of the environment or its class."""
        if self.env is None:
            return f"observations {self.spaces.shape}"
        task = getattr(self.env.unwrapped, "task_name", None)
        if isinstance(task, str):
            return task
        return self.env.spec.id if self.env.spec else type(self.env.unwrapped).__name__

    # --- what each agent says of itself -----------------------------------------------------------

    @abstractmethod
    def values(self, history: NDArray[Any]) -> Values:
        """Return Q(s, a) of each action after these frames, [k + 1, *shape]; leave no trace."""

    @abstractmethod
    def _stepped(self, action: int, reward: float, pose: Pose | None) -> None:
        """Learn from a step that led to the newest frame."""

    @abstractmethod
    def _terminated(self, action: int, reward: float) -> None:
        """Learn from the last step of an episode; the newest frame is the one before it."""

    def _begun(self, pose: Pose | None) -> None:
        """Start an episode, whose first frame is the newest."""
        return

    def _cut_off(self) -> None:
        """End an episode at a state that is not terminal."""
        return

    def _best_action(self) -> int:
        """Return the greedy action of the learning agent, which may leave traces."""
        return greedy(self._decision_values(), self._rng)

    def _decision_values(self) -> Values:
        return self.values(self._frames.history)

    def _sizes(self) -> dict[str, float]:
        """Return how large its parts are, for the metrics."""
        return {}

    # --- saving -----------------------------------------------------------------------------------

    def identity(self) -> StateDict:
        """Return what a checkpoint must agree with to belong to this agent."""
        return {
            "agent": self.name,
            "config": to_plain(self.config, full=True),
            "seed": self.seed,
            "threads": self.threads,
        }

    def state_dict(self) -> StateDict:
        """Return everything that the future depends on except the frames."""
        return {
            "version": VERSION,
            "name": self.name,
            "n_actions": self.n_actions,
            "steps": self.steps,
            "in_episode": int(self._in_episode),
            "rng": self._rng.bit_generator.state,
            "user_rng": self._user_rng.bit_generator.state,
            "history": self._frames.history.copy(),
            "means": self._means.state_dict(),
            **self._own_state(),
        }

    def load_state_dict(
        self, state: Mapping[str, Any], frames: Iterable[Mapping[str, Any]] = ()
    ) -> None:
        """Restore a saved agent; `frames` are pieces from `frames_since`, oldest first.

        ValueError if it does not fit; the agent must then not be used any more.
        """
        own = {"version": VERSION, "name": self.name, "n_actions": self.n_actions}
        for key, value in own.items():
            if state.get(key) != value:
                raise ValueError(f"saved agent: {key} must be {value!r}, got {state.get(key)!r}")
        try:
            self._load_own_state(state, frames)
            self._frames.load(state["history"])
            self._means.load_state_dict(state["means"])
            self._rng.bit_generator.state = state["rng"]
            self._user_rng.bit_generator.state = state["user_rng"]
            self.steps = int(state["steps"])
            self._in_episode = bool(state["in_episode"])
        except KeyError as error:
            raise ValueError(f"saved agent: {error.args[0]} is missing") from None

    @abstractmethod
    def _own_state(self) -> StateDict:
        """Return what this agent has learned."""

    @abstractmethod
    def _load_own_state(
        self, state: Mapping[str, Any], frames: Iterable[Mapping[str, Any]]
    ) -> None:
        """Restore what was learned."""

    # --- inside -----------------------------------------------------------------------------------

    @property
    def _epsilon(self) -> float:
        epsilon: float = self.config.exploration.epsilon_at(self.steps)
        return epsilon

    def _new_frame_stack(self) -> FrameStack:
        spaces, config = self.spaces, self.config
        return FrameStack(spaces.shape, spaces.dtype, config.history, config.resize, config.pooling)

    def _require_episode(self) -> None:
        if not self._in_episode:
            raise ValueError("no episode has begun: call begin with its first observation")


class GreedyPolicy:
    """Epsilon-greedy on an agent's Q-values, with frames of its own; the agent learns nothing."""

    def __init__(self, agent: AgentCore, epsilon: float, rng: np.random.Generator) -> None:
        self._agent, self._epsilon, self._rng = agent, epsilon, rng
        self._frames = agent._new_frame_stack()

    def begin(self, observation: ArrayLike) -> None:
        """Start an episode with its first observation."""
        self._frames.begin(observation)

    def act(self) -> int:
        """Choose an action."""
        return epsilon_greedy(self._epsilon, self._agent.n_actions, self._rng, self._best_action)

    def q_values(self) -> Values:
        """Return Q(s, a) of each action at the current observation."""
        return self._agent.values(self._frames.history)

    def observe(self, observation: ArrayLike, action: int | None = None) -> None:
        """See what followed the last action; which one it was makes no difference here."""
        self._frames.push(observation)

    def history(self) -> NDArray[Any]:
        """Return the current frame after the k before it, resized as they are stored."""
        return self._frames.history

    def _best_action(self) -> int:
        return greedy(self.q_values(), self._rng)
