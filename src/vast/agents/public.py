"""The agents as users meet them: the same verbs on every one, for any Gymnasium environment."""

import signal
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vast.agents.registry import kind_named
from vast.envs.tasks import task_of
from vast.errors import UserError, unknown
from vast.training.actor import Actor, spaces_of
from vast.training.checkpoint import Checkpoint
from vast.training.evaluation import run_test_epoch
from vast.training.interrupts import noted
from vast.training.loop import Loop, LoopConfig, Row
from vast.training.plain import from_plain, to_plain
from vast.training.progress import Progress
from vast.training.protocol import Agent, Env, Policy, State
from vast.training.restoring import fitting
from vast.training.threads import limited_threads


class LearningAgent:
    """An agent in an environment.

    Args:
        env: any Gymnasium environment with discrete actions, and images of bytes or vectors of
            floats as observations.
        preset: "cpu", "paper" or "debug"; a task of ours has numbers of its own in each.
        seed: from which all chance follows.
        config: every number, instead of a preset.
        threads: of torch and NumPy while it learns.
    """

    kind: ClassVar[str]

    def __init__(
        self,
        env: Env,
        preset: str = "cpu",
        seed: int = 0,
        *,
        config: Any = None,
        threads: int = 1,
    ) -> None:
        kind, spaces = kind_named(self.kind), spaces_of(env)
        if config is None:
            config = kind.preset(preset, task_of(env), spaces.shape)
        elif not isinstance(config, kind.config):
            raise UserError(f"config {config!r}: allowed is a {kind.config.__name__}")
        self.config = config
        self.seed = seed
        self.threads = threads
        living, thinking, self._own = np.random.SeedSequence(seed).spawn(3)
        self.mind: Agent = kind.make(spaces, config, thinking)
        self._loop = Loop(self.mind, Actor(env, living), LoopConfig())
        self._greedy_rng = np.random.default_rng(self._own)

    @property
    def steps(self) -> int:
        """Environment steps learned from."""
        return self.mind.steps

    def learn(self, steps: int, *, progress: bool = False) -> Self:
        """Act and learn for so many more steps.

        A keyboard interrupt is raised when the step is finished, and learning can go on from there.
        """
        if steps < 0:
            raise UserError(f"steps {steps}: allowed is 0 or more")
        shown = Progress() if progress else nullcontext()
        with (
            limited_threads(self.threads),
            shown as display,
            noted(signal.SIGINT) as interrupted,
        ):
            done = self._loop.run(self.mind.steps + steps, _Watcher(display, interrupted))
        if not done:
            raise KeyboardInterrupt
        return self

    def act(self, observation: ArrayLike) -> int:
        """Return the best action; the observation may come with its history, oldest first."""
        return self._policy_on(observation).act()

    def q_values(self, observation: ArrayLike) -> NDArray[np.float64]:
        """Return the value of each action; the observation may come with its history."""
        return self._policy_on(observation).q_values()

    def policy(self, epsilon: float = 0.0, seed: int = 0) -> Policy:
        """Return the policy for a loop of one's own: begin, then act and observe in turns."""
        return self.mind.policy(epsilon, np.random.default_rng(seed))

    def evaluate(self, env: Env, steps: int = 1000, epsilon: float = 0.05, seed: int = 0) -> Row:
        """Run a test epoch in another environment; nothing is learned from it."""
        if env.unwrapped is self._loop.actor.env.unwrapped:
            raise UserError("evaluate in the environment it learns in: allowed is another one")
        if steps < 1:
            raise UserError(f"steps {steps}: allowed is 1 or more")
        if not 0 <= epsilon <= 1:
            raise UserError(f"epsilon {epsilon}: allowed is 0 to 1")
        return run_test_epoch(
            self.mind, env, steps, epsilon, np.random.SeedSequence(seed)
        )._asdict()

    def _policy_on(self, observation: ArrayLike) -> Policy:
        spaces = spaces_of(self._loop.actor.env)
        shape, seen = spaces.shape, np.asarray(observation)
        if np.issubdtype(spaces.dtype, np.floating):
            seen = seen.astype(spaces.dtype)  # a list of numbers will do for a vector
        if seen.shape == shape:
            seen = seen[None]
        if seen.shape[1:] != shape or not len(seen):
            raise UserError(
                f"observation of shape {seen.shape}: allowed is {shape}, or several of these"
            )
        policy = self.mind.policy(0.0, self._greedy_rng)
        policy.begin(seen[0])
        for later in seen[1:]:
            policy.observe(later)
        return policy

    def save(self, path: str | Path) -> None:
        """Write the agent, whole, to a folder; what was there before is intact until then."""
        Checkpoint(Path(path)).save(self._state(), self.mind.frame_store)

    def _state(self) -> State:
        return {
            "kind": self.kind,
            "settings": to_plain(self.config),
            "seed": self.seed,
            "threads": self.threads,
            "greedy": self._greedy_rng.bit_generator.state,
            "loop": self._loop.state_dict(),
        }

    @classmethod
    def load(cls, path: str | Path, env: Env) -> Self:
        """Return a saved agent, or that of a run's folder, in an environment like its own."""
        folder = Path(path)
        if (folder / "checkpoint").is_dir():
            folder = folder / "checkpoint"
        state, frames = Checkpoint(folder).load()
        with fitting(folder):
            kind = state["kind"]
            if kind != cls.kind:
                raise unknown("agent in the checkpoint", kind, [cls.kind])
            config = from_plain(kind_named(kind).config, state["settings"])
            agent = cls(env, seed=state["seed"], config=config, threads=state["threads"])
            agent._loop.load_state_dict(state["loop"], frames)
            if "greedy" in state:
                agent._greedy_rng.bit_generator.state = state["greedy"]
        return agent

    def close(self) -> None:
        """End what runs in the background; the environment is the user's to close."""
        self.mind.close()


class _Watcher:
    """Shows progress, if anybody wants to see it, and looks out for interrupts."""

    def __init__(self, progress: Progress | None, interrupted: Callable[[], bool]) -> None:
        self._progress = progress
        self._interrupted = interrupted

    def tick(self, agent: Agent, total: int) -> bool:
        if self._progress is not None:
            self._progress.update(agent.steps, total, agent.facts)
        return self._interrupted()

    def row(self, step: int, wall_seconds: float, row: Row) -> None:
        pass


class VaST(LearningAgent):
    """Variational State Tabulation."""

    kind = "vast"


class LSH(LearningAgent):
    """VaST's planning, with states by fixed random projections instead of a model."""

    kind = "lsh"


class MFEC(LearningAgent):
    """Model-Free Episodic Control (Blundell et al. 2016)."""

    kind = "mfec"


class NEC(LearningAgent):
    """Neural Episodic Control (Pritzel et al. 2017)."""

    kind = "nec"


class PrioritizedDDQN(LearningAgent):
    """Double DQN with prioritized replay (van Hasselt et al. 2016; Schaul et al. 2016)."""

    kind = "ddqn"
