"""Runs that can be stopped at any time, resumed, and trusted."""

import json
import logging
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from vast.agents.registry import kind_named
from vast.envs.tasks import make_env
from vast.errors import UserError
from vast.experiments import folder as files
from vast.experiments.config import RunConfig, planned_interventions
from vast.training import chance
from vast.training.actor import Actor, spaces_of
from vast.training.checkpoint import Checkpoint
from vast.training.evaluation import run_test_epoch
from vast.training.interrupts import noted
from vast.training.loop import Loop, Row
from vast.training.metrics import MetricsLog
from vast.training.plain import first_difference, to_plain
from vast.training.progress import Progress
from vast.training.protocol import Agent, Env, State
from vast.training.restoring import fitting
from vast.training.threads import limited_threads

log = logging.getLogger("vast")

SAVE_SECONDS = 60.0
"""time between two checkpoints; saving changes nothing, so that it may go by the clock"""


class Run:
    """An agent, its world, and the folder that both are saved in."""

    def __init__(self, folder: Path, config: RunConfig) -> None:
        self.folder = folder
        self.config = config
        self._checkpoint = Checkpoint(folder / files.CHECKPOINT)
        self._metrics: MetricsLog | None = None
        self._progress: Progress | None = None
        self._env = make_env(config.task, config.wad, config.map)
        interventions = planned_interventions(config.interventions)
        for _, intervention in interventions:
            intervention.check(self._env)
        self._test_env: Env | None = None
        living, thinking = np.random.SeedSequence(config.seed).spawn(2)
        kind = kind_named(config.agent)
        self.agent = kind.make(spaces_of(self._env), config.settings, thinking)
        self._loop = Loop(
            self.agent,
            Actor(self._env, living),
            config.loop,
            self.test,
            interventions,
        )
        self._offset = 0  # of the rows of metrics that belong to what was saved
        self._saved_at = time.monotonic()
        self._interrupted: Callable[[], bool] = lambda: False
        self._last = ""  # what the last test epoch brought

    # --- training ---------------------------------------------------------------------------------

    def train(self) -> bool:
        """Train up to the number of steps asked for; return whether nobody interrupted it."""
        with (
            limited_threads(self.config.threads),
            MetricsLog(self.folder / files.METRICS) as self._metrics,
            Progress() as self._progress,
            noted(signal.SIGINT, signal.SIGTERM) as self._interrupted,
        ):
            self._metrics.rewind(self._offset)
            self._announce(self._progress)
            self._saved_at = time.monotonic()
            done = self._loop.run(self.config.steps, self)
            self._save()
        return done

    def tick(self, agent: Agent, total: int) -> bool:
        """Show progress and save now and then; return whether to stop."""
        if self._progress is not None:
            self._progress.update(agent.steps, total, self._facts)
        if time.monotonic() - self._saved_at > SAVE_SECONDS:
            self._save()
        return self._interrupted()

    def row(self, step: int, wall_seconds: float, row: Row) -> None:
        """Write a row of metrics."""
        assert self._metrics is not None
        self._metrics.write(step, wall_seconds, row)
        if "eval/episodes" in row:
            brought = f"{row['eval/mean_return']:.2f}" if row["eval/episodes"] else "none"
            self._last = f"{brought} at {step:,}"

    def test(self, step: int) -> Row:
        """Run a test epoch, seeded by the run's seed and the step."""
        loop = self.config.loop
        return self.test_epoch(step, loop.eval_steps, loop.eval_epsilon)

    def test_epoch(self, step: int, steps: int, epsilon: float) -> Row:
        """Run a test epoch of so many steps, in an environment of its own."""
        if self._test_env is None:
            self._test_env = make_env(self.config.task, self.config.wad, self.config.map)
        self.give_world_to(self._test_env)
        seed = np.random.SeedSequence([self.config.seed, step])
        return run_test_epoch(self.agent, self._test_env, steps, epsilon, seed).metrics()

    def give_world_to(self, env: Env) -> None:
        """Let another environment be in the map, and with the rewards, that the run's is in."""
        self._loop.actor.copy_world_to(env)

    def _facts(self) -> dict[str, float | str]:
        return {**self.agent.facts(), **({"test return": self._last} if self._last else {})}

    def _announce(self, progress: Progress) -> None:
        estimate = getattr(self.agent.frame_store, "estimate_bytes", None)
        if estimate is not None:
            progress.say(f"the replay takes up to {estimate() / 2**30:.2f} GiB when full")
        if self.agent.steps:
            progress.say(f"going on from step {self.agent.steps:,}")

    # --- saving -----------------------------------------------------------------------------------

    def _save(self) -> None:
        saved = self._checkpoint.save(self._state(), self.agent.frame_store)
        self._saved_at = time.monotonic()
        entry = {"step": self.agent.steps, "seconds": saved.seconds, "bytes": saved.bytes_written}
        path = self.folder / files.SAVES
        try:
            with path.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps(entry) + "\n")
        except OSError as error:
            raise UserError(f"cannot write {path}: {error.strerror}") from error

    def _identity(self) -> State:
        """Return what a checkpoint must agree with to be of this run."""
        config = self.config
        return {
            "kind": config.agent,
            "task": config.task,
            "settings": to_plain(config.settings),
            "seed": config.seed,
            "threads": config.threads,
        }

    def _state(self) -> State:
        return {
            **self._identity(),
            "metrics_offset": 0 if self._metrics is None else self._metrics.sync(),
            "loop": self._loop.state_dict(),
        }

    def restore(self) -> None:
        """Be where the run was last saved, or at its beginning if it never was."""
        if not self._checkpoint.exists():
            chance.seed(self.config.seed)
            return
        state, frames = self._load()
        with fitting(self._checkpoint.folder):
            self._loop.load_state_dict(state["loop"], frames)
            self._offset = int(state["metrics_offset"])
        with MetricsLog(self.folder / files.METRICS) as metrics:
            metrics.rewind(self._offset)
        if self.config.steps < self.agent.steps:
            raise UserError(
                f"steps {self.config.steps}: the run is at step {self.agent.steps} already; "
                "allowed is that or more"
            )

    def load_agent(self) -> None:
        """Restore the agent and the settings of its world, to look at rather than to train on."""
        state, frames = self._load()
        with fitting(self._checkpoint.folder):
            self.agent.load_state_dict(state["loop"]["agent"], frames)
            self._loop.actor.load_world(state["loop"]["actor"])

    def _load(self) -> tuple[State, Iterator[State]]:
        """Return what was saved; UserError if it is of another run."""
        state, frames = self._checkpoint.load()
        own = self._identity()
        there = {name: state.get(name) for name in own}
        difference = first_difference(there, own)
        if difference is not None:
            raise UserError(f"checkpoint {self._checkpoint.folder} is of another run: {difference}")
        return state, frames

    def close(self) -> None:
        """End the engines and threads."""
        self.agent.close()
        self._env.close()
        if self._test_env is not None:
            self._test_env.close()


@contextmanager
def opened(folder: Path, config: RunConfig) -> Iterator[Run]:
    """Give a run, and close it."""
    run = Run(folder, config)
    try:
        yield run
    finally:
        run.close()


@contextmanager
def logged_to(folder: Path) -> Iterator[None]:
    """Write warnings to the run's log, beside wherever they go."""
    handler = logging.FileHandler(folder / files.LOG, encoding="utf-8", delay=True)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)
        handler.close()


def train(folder: Path, config: RunConfig) -> bool:
    """Start a run, or go on with the one in the folder; return whether it was not interrupted."""
    if (folder / files.CONFIG).exists():
        files.require_same(files.read_config(folder), config)
    elif folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(f"{folder} is not empty and no run: choose another --out")
    with opened(folder, config) as run, logged_to(folder):
        run.restore()
        files.write_config(folder, config)
        return run.train()


def resume(folder: Path, steps: int | None) -> bool:
    """Go on with a run, up to `steps` in all; return whether it was not interrupted."""
    config = files.read_config(folder)
    return train(folder, config if steps is None else replace(config, steps=steps))


@contextmanager
def looked_at(folder: Path) -> Iterator[Run]:
    """Give a run as it was last saved, to look at."""
    config = files.read_config(folder)
    with opened(folder, config) as run:
        run.load_agent()
        with limited_threads(config.threads):
            yield run
