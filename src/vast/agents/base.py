"""The base of all agents: the verbs that users call, the same on every one.

`core.py` has what the training loop calls, and `GreedyPolicy`.
"""

import signal
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from contextlib import closing, nullcontext
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from vast.agents.config import ReplayAgentConfig
from vast.agents.core import AgentCore, GreedyPolicy, SeedPair, Values
from vast.agents.network import Network, NetworkOptimiser
from vast.agents.recorder import recorder
from vast.checks import at_least, fraction
from vast.env_ids import made
from vast.errors import UserError
from vast.replay import Replay
from vast.replay.stores import absent_frames
from vast.training.agent_file import load_saved
from vast.training.callbacks import Callback, ShowProgress, StopWhen
from vast.training.checkpoint import Checkpoint, checkpoint_errors, checkpoint_in
from vast.training.plain import from_plain
from vast.training.progress import Progress, is_watched
from vast.training.protocol import Env, StateDict
from vast.training.rollout import run_test_epoch
from vast.training.signals import deferred_signals
from vast.training.threads import limited_threads
from vast.training.trainer import Trainer

__all__ = ["Agent", "GreedyPolicy", "ReplayAgent", "Values"]


class Agent(AgentCore):
    """An agent as users meet it; see `AgentCore` for the arguments of the constructor."""

    run_directory: Path | None = None
    """of the run that it belongs to: loaded from there, or learned into it"""

    def learn(
        self,
        steps: int,
        *,
        out: str | Path | None = None,
        test_env: Env | None = None,
        callbacks: Iterable[Callback] = (),
        progress: bool | None = None,
    ) -> Self:
        """Act and learn for this many more steps.

        Callbacks see every step and every row of metrics, and may stop it. Progress is shown in a
        terminal and in a notebook, unless `progress` says otherwise. A keyboard interrupt is
        raised when the current step is finished; learning can go on from there.

        `out` is a run directory, as `vast train` writes it: config, metrics, checkpoints. Tests
        are as in the task's preset, in `test_env` or in a new environment of the same id. Whoever
        loads the agent from there, with `load` or `vast resume`, can go on with the run.
        """
        at_least(0, steps=steps)
        if not getattr(self.frame_store, "has_frames", True):
            raise absent_frames("to learn")
        total, shown = self.steps + steps, is_watched() if progress is None else progress
        if out is not None:
            interrupted = recorder()(
                self, Path(out), total, test_env=test_env, callbacks=callbacks, quiet=not shown
            )
        else:
            interrupted = self._learn_unrecorded(total, callbacks, shown)
        if interrupted:
            raise KeyboardInterrupt
        return self

    def _learn_unrecorded(self, total: int, callbacks: Iterable[Callback], shown: bool) -> bool:
        """Act and learn up to `total` steps; return whether it was interrupted."""
        with (
            limited_threads(self.threads),
            Progress() if shown else nullcontext() as display,
            deferred_signals(signal.SIGINT) as interrupted,
        ):
            own = [ShowProgress(display)] if display else []
            self.trainer.run(total, [*own, *callbacks, StopWhen(interrupted)])
        return interrupted()

    def act(self, observation: ArrayLike) -> int:
        """Return the best action; the observation may come with its history, oldest first."""
        return self._policy_on(observation).act()

    def q_values(self, observation: ArrayLike) -> NDArray[np.float64]:
        """Return the value of each action; the observation may come with its history."""
        return self._policy_on(observation).q_values()

    def evaluate(
        self, env: Env | str, steps: int = 1000, epsilon: float = 0.05, seed: int = 0
    ) -> dict[str, float]:
        """Run a test epoch in another environment, or in that of an id; nothing is learned."""
        if isinstance(env, str):
            with closing(made(env)) as its:
                return self.evaluate(its, steps, epsilon, seed)
        if self.env is not None and env.unwrapped is self.env.unwrapped:
            raise UserError("evaluate needs another environment than the one the agent learns in")
        at_least(1, steps=steps)
        fraction(epsilon=epsilon)
        return run_test_epoch(self, env, steps, epsilon, np.random.SeedSequence(seed)).summary()

    def save(self, path: str | Path) -> None:
        """Write the agent to a directory; an earlier checkpoint there is intact until then."""
        if checkpoint_in(Path(path)) != Path(path):
            raise UserError(f"{path} is a run directory: choose another path")
        Checkpoint(Path(path)).save(self.trainer.state_dict(), self.frame_store)

    @classmethod
    def load(cls, path: str | Path, env: Env | str, **options: Any) -> Self:
        """Return a saved agent, that of a run directory, or of a file that `vast export` wrote.

        The environment must be like its own. From a file without frames, it acts but cannot learn.

        `options` are further arguments of the constructor, such as a user's own encoder, or the
        device, which need not be the one that it was saved from.
        """
        state, frames, folder = load_saved(Path(path))
        with checkpoint_errors(folder):
            identity = state["identity"]
            if identity["agent"] != cls.name:
                raise UserError(
                    f"the checkpoint must hold the agent {cls.name!r}, got {identity['agent']!r}"
                )
            agent = cls(
                env,
                seed=identity["seed"],
                config=from_plain(cls.config_class, identity["config"]),
                threads=identity["threads"],
                **options,
            )
            agent.trainer.load_state_dict(state, frames)
        if folder == checkpoint_in(Path(path)) != Path(path):
            agent.run_directory = Path(path).resolve()
        return agent

    @cached_property
    def trainer(self) -> Trainer:
        """The agent in its environment, and the loop."""
        if self.env is None:
            raise UserError("the agent has no environment: it was made from its spaces alone")
        return Trainer(self, self.env, self.seed)

    def _policy_on(self, observation: ArrayLike) -> GreedyPolicy:
        spaces, seen = self.spaces, np.asarray(observation)
        if np.issubdtype(spaces.dtype, np.floating):
            seen = seen.astype(spaces.dtype)  # a list of numbers will do for a vector
        if seen.shape == spaces.shape:
            seen = seen[None]
        if seen.shape[1:] != spaces.shape or not len(seen):
            raise UserError(
                f"observation must have shape {spaces.shape}, or be several of these, "
                f"got shape {seen.shape}"
            )
        policy = self.policy(0.0, self._user_rng)
        policy.begin(seen[0])
        for later in seen[1:]:
            policy.observe(later)
        return policy


class ReplayAgent(Agent):
    """An agent whose network learns from minibatches that it draws from a replay memory."""

    config: ReplayAgentConfig

    def _build(self, seeds: SeedPair) -> None:
        config, (weights, _) = self.config, seeds
        generator = torch.Generator().manual_seed(int(weights.generate_state(1)[0]))
        self.network = Network(
            self.shape, config.history, self._n_outputs, config.network, generator, self.device
        )
        self._optimiser = NetworkOptimiser(
            self.network, config.learning_rate, config.betas, config.epsilon
        )
        self.replay = Replay(
            config.replay,
            self.shape,
            self.n_actions,
            dtype=self.spaces.dtype,
            history=config.history,
            compressed=config.compressed,
        )
        self._trained_at = 0  # the last step after which `train` did what was due
        self._trainings = 0

    @property
    @abstractmethod
    def _n_outputs(self) -> int:
        """How many outputs the network has."""

    @property
    def frame_store(self) -> Replay:
        """Where its frames are."""
        return self.replay

    def train(self) -> bool:
        """Do what is due after this step, unless it was done; there is never more."""
        if self.steps != self._trained_at:
            self._trained_at = self.steps
            self._train_if_due()
        return False

    def _train_if_due(self) -> None:
        if self.steps == self.config.standardise_after:
            self._standardise()
        if self._due(self.config.train_interval) and self._learn():
            self._trainings += 1

    def _due(self, interval: int) -> bool:
        """Tell whether something is due that happens every `interval` steps after the burn-in."""
        return self.steps >= self.config.exploration.burn_in and self.steps % interval == 0

    def _standardise(self) -> None:
        """Standardise the network's input by the frames stored so far."""
        numbers = np.arange(self.replay.oldest, self.replay.end)
        self.network.standardise(self.replay.frames(numbers))

    @abstractmethod
    def _learn(self) -> bool:
        """Do one step of gradient descent; return False if there is nothing to learn from yet."""

    def _sizes(self) -> dict[str, float]:
        return {"train/steps": self._trainings}

    def progress_stats(self) -> dict[str, float]:
        """Return a few statistics to show beside the progress bar."""
        return {**super().progress_stats(), "training steps": self._trainings}

    def _own_state(self) -> StateDict:
        return {
            "network": self._optimiser.state_dict(),
            "replay": self.replay.state_dict(frames=False),
            "trained_at": self._trained_at,
            "trainings": self._trainings,
        }

    def _load_own_state(
        self, state: Mapping[str, Any], frames: Iterable[Mapping[str, Any]]
    ) -> None:
        self.replay.load_state_dict(state["replay"], frames)
        self._optimiser.load_state_dict(state["network"])
        self._trained_at, self._trainings = int(state["trained_at"]), int(state["trainings"])
