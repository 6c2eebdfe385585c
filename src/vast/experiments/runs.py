"""Runs that can be stopped at any time and resumed exactly."""

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np

from vast.agents.base import Agent
from vast.agents.registry import agent_named
from vast.errors import UserError
from vast.experiments import run_directory as files
from vast.experiments.config import RunConfig, planned_interventions
from vast.experiments.interventions import parse_intervention
from vast.experiments.lock import LOCK, locked, require_unlocked
from vast.experiments.own_map import COPIES, hashed, map_copied, require_intact
from vast.experiments.run_log import warnings_to
from vast.experiments.wandb_log import logged, wandb_run
from vast.training import global_rng
from vast.training.actor import env_settings, set_env_settings
from vast.training.callbacks import (
    Callback,
    Row,
    SaveRegularly,
    ShowProgress,
    StopWhen,
    WriteMetrics,
)
from vast.training.checkpoint import CHECKPOINT, Checkpoint, checkpoint_errors
from vast.training.device import available_or_cpu, device_named
from vast.training.metrics import MetricsLog, check_rows, end_of_step
from vast.training.progress import Progress
from vast.training.protocol import Env, StateDict
from vast.training.rollout import run_test_epoch
from vast.training.signals import STOPPING, deferred_signals
from vast.training.threads import limited_threads
from vast.training.trainer import Plan

SAVE_SECONDS = 60.0
"""between two checkpoints"""


def never() -> bool:
    """Return False: nobody asks the run to stop."""
    return False


class Run:
    """An agent in its environment, and the directory in which both are saved.

    `test_env` is where it is tested; None: in a new environment of the task.
    """

    def __init__(
        self, directory: Path, config: RunConfig, agent: Agent, test_env: Env | None = None
    ) -> None:
        self.directory, self.config, self.agent = directory, config, agent
        self._trainer = agent.trainer
        self._env = self._trainer.actor.env
        self._checkpoint = Checkpoint(directory / CHECKPOINT)
        self._test_env = test_env
        self._made_test_env: Env | None = None
        tested = config.own_env is None or test_env is not None
        interventions = planned_interventions(config.interventions)
        self._plan = Plan(config.loop, self.test if tested else None, interventions)
        self._offset = 0  # the length of the metrics that belong to the checkpoint
        self.interrupted = False
        """whether a signal ended the training"""

    # --- training ---------------------------------------------------------------------------------

    def train(
        self,
        stop: Callable[[], bool] = never,
        save_seconds: float | None = None,
        *,
        callbacks: Iterable[Callback] = (),
        quiet: bool = False,
    ) -> bool:
        """Train up to the number of steps in the config; return False if it was interrupted.

        `stop` is asked after each step, and interrupts it as a signal does.
        """
        with (
            limited_threads(self.config.threads),
            MetricsLog(self.directory / files.METRICS) as metrics,
            nullcontext() if quiet else Progress() as progress,
            deferred_signals(*STOPPING) as interrupted,
        ):
            if progress:
                self._announce(progress, metrics)
            metrics.rewind(self._offset)
            watching = (
                *([ShowProgress(progress)] if progress else []),
                WriteMetrics(metrics),
                SaveRegularly(lambda: self._save(metrics), save_seconds or SAVE_SECONDS),
                *callbacks,
                StopWhen(interrupted),
                StopWhen(stop),
            )
            done = self._trainer.run(self.config.steps, watching, self._plan)
            self._save(metrics)
            self.interrupted = interrupted()
        return done

    def test(self, step: int) -> Row:
        """Run a test epoch, seeded by the run's seed and the step."""
        loop = self.config.loop
        return self.test_epoch(step, loop.eval_steps, loop.eval_epsilon)

    def test_epoch(self, step: int, steps: int, epsilon: float) -> Row:
        """Run a test epoch of this many steps, in an environment of its own."""
        env = self._test_env or self._made_test_env
        if env is None:
            env = self._made_test_env = self.config.make_env()
        self.copy_env_settings(env)
        seed = np.random.SeedSequence([self.config.seed, step])
        return run_test_epoch(self.agent, env, steps, epsilon, seed).metrics()

    def copy_env_settings(self, env: Env) -> None:
        """Give another environment the settings that the run's has now, such as its map."""
        set_env_settings(env, env_settings(self._env))

    def _announce(self, progress: Progress, metrics: MetricsLog) -> None:
        estimate = getattr(self.agent.frame_store, "estimate_bytes", None)
        if estimate is not None:
            progress.say(f"the replay takes up to {estimate() / 2**30:.2f} GiB when full")
        if self.agent.steps:
            progress.say(f"resuming from step {self.agent.steps:,}")
        elif metrics.offset:
            progress.say("this run was stopped before it was ever saved: starting from step 0")

    # --- saving -----------------------------------------------------------------------------------

    def _save(self, metrics: MetricsLog) -> None:
        state: StateDict = {
            **self._trainer.state_dict(),
            "task": self.config.task,
            "interventions": self._happened(self._trainer.intervened),
            "metrics_offset": metrics.sync(),
        }
        saved = self._checkpoint.save(state, self.agent.frame_store)
        entry = {"step": self.agent.steps, "seconds": saved.seconds, "bytes": saved.bytes_written}
        path = self.directory / files.SAVES
        try:
            with path.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps(entry) + "\n")
        except OSError as error:
            raise UserError(f"cannot write {path}: {error.strerror}") from error

    def restore(self) -> None:
        """Restore the last checkpoint, or start from the beginning if there never was one."""
        if not self._checkpoint.exists():
            global_rng.seed(self.config.seed)
            return
        state, frames = self._load()
        with checkpoint_errors(self._checkpoint.folder):
            self._require_past(state)
            self._trainer.load_state_dict(state, frames)
            self._offset = int(state["metrics_offset"])
        if not getattr(self.agent.frame_store, "has_frames", True):
            raise UserError(
                f"{self.directory} cannot be resumed: its frames were left out when it was "
                "exported; `vast export --with-replay` includes them"
            )
        check_rows(self.directory / files.METRICS, self._offset)
        if self.config.steps < self.agent.steps:
            raise UserError(
                f"steps must be at least {self.agent.steps}, where the run is already, "
                f"got {self.config.steps}"
            )

    def go_on(self) -> None:
        """Go on with the agent as it is, and with the metrics up to its present step."""
        self._offset = end_of_step(self.directory / files.METRICS, self.agent.steps)

    def _happened(self, count: int) -> list[str]:
        """Return the first interventions of the run, in the order of their steps."""
        steps = {text: parse_intervention(text)[0] for text in self.config.interventions}
        return sorted(self.config.interventions, key=lambda text: steps[text])[:count]

    def _require_past(self, state: StateDict) -> None:
        """Raise ValueError unless what happened to the agent so far is what the config says."""
        past = state.get("interventions")  # checkpoints of before do not say
        config = self._happened(int(state["intervened"]))
        if past is not None and past != config:
            raise ValueError(f"its interventions must be {config}, got {past}")

    def load_agent(self) -> None:
        """Restore the agent and its environment's settings, to look at rather than to train."""
        state, frames = self._load()
        with checkpoint_errors(self._checkpoint.folder):
            self._trainer.load_agent(state, frames)

    def _load(self) -> tuple[StateDict, Iterator[StateDict]]:
        """Return what was saved; UserError if it belongs to another task."""
        state, frames = self._checkpoint.load()
        if state.get("task") != self.config.task:
            raise UserError(
                f"checkpoint {self._checkpoint.folder} does not fit: its task must be "
                f"{self.config.task!r}, got {state.get('task')!r}"
            )
        return state, frames

    def close(self) -> None:
        """Close the environment that was made for tests."""
        if self._made_test_env is not None:
            self._made_test_env.close()


@contextmanager
def opened(directory: Path, config: RunConfig) -> Iterator[Run]:
    """Yield a run, with an environment and an agent of its own, and close all three."""
    require_intact(config)
    interventions = planned_interventions(config.interventions)
    with closing(config.make_env()) as env:
        for _, intervention in interventions:
            intervention.check(env)
        make = agent_named(config.agent).agent_class
        try:
            agent = make(
                env,
                seed=config.seed,
                config=config.settings,
                threads=config.threads,
                device=config.device,
            )
        except MemoryError as error:
            raise UserError(f"the agent's capacity must fit into memory: {error}") from error
        with closing(agent), closing(Run(directory, config, agent)) as run:
            yield run


def train(
    directory: Path,
    config: RunConfig,
    stop: Callable[[], bool] = never,
    save_seconds: float | None = None,
    wandb: str | None = None,
) -> bool:
    """Start a run, or resume the one in the directory; return False if it was interrupted.

    `stop` is asked after each step, and interrupts it as a signal does. `wandb` is a project at
    Weights & Biases; a run that is logged there goes on to be.
    """
    _require_makeable(config, directory)
    config.require_parts()
    device_named(config.device)
    to = wandb_run(directory, wandb)
    config = hashed(config)
    require_unlocked(directory)
    require_place(directory, config)
    with (
        locked(directory),
        warnings_to(directory / files.LOG) as begin_log,
        placed(directory, config) as here,
        opened(directory, here) as run,
    ):
        run.restore()
        if run.agent.steps < config.steps:
            files.drop_probes(directory)
        with logged(directory, here, to) as logging:
            files.write_config(directory, here)
            begin_log()
            return run.train(stop, save_seconds, callbacks=logging)


@contextmanager
def placed(directory: Path, config: RunConfig) -> Iterator[RunConfig]:
    """Yield the config with the map file, if it has one, that is in the directory."""
    require_place(directory, config)  # another process may have been there meanwhile
    if (directory / files.CONFIG).exists():
        there = files.read_config(directory)
        yield replace(config, wad=there.wad, wad_sha256=there.wad_sha256)
    else:
        with map_copied(directory, config) as copied:
            yield copied


def require_place(directory: Path, config: RunConfig) -> None:
    """Raise UserError unless the directory holds this run, or nothing."""
    try:
        there = (directory / files.CONFIG).exists()
        vacant = not directory.exists() or _is_empty(directory)
    except OSError as error:
        raise UserError(f"cannot use {directory}: {error.strerror}") from error
    if there:
        files.require_same(files.read_config(directory), config)
        if _lost_checkpoint(directory):
            raise UserError(
                f"the checkpoint of {directory} is gone: remove the directory to start over, or "
                "choose another --out"
            )
    elif not vacant:
        raise UserError(f"{directory} is not empty and not a run directory: choose another --out")


def _is_empty(directory: Path) -> bool:
    """Tell whether there is nothing in a directory, or only what a run killed at once left."""
    if not directory.is_dir():
        return False
    names = {path.name for path in directory.iterdir()}
    return not names or (LOCK in names and names <= {LOCK, *COPIES.values()})


def _lost_checkpoint(directory: Path) -> bool:
    """Tell whether a run was saved, but its checkpoint is gone.

    A run that was killed before its first save is another matter: there is nothing to lose.
    """
    saves = directory / files.SAVES
    there = Checkpoint(directory / CHECKPOINT).exists()
    return not there and saves.exists() and saves.stat().st_size > 0


def _require_makeable(config: RunConfig, directory: Path, *, resumed: bool = False) -> None:
    """Raise UserError if only a program can make the environment of a run."""
    if config.own_env is None:
        return
    agent = agent_named(config.agent).agent_class.__name__
    call = f"{agent}.load({str(directory)!r}, env)" if resumed else f"{agent}(env)"
    raise UserError(
        f"{directory} cannot be {'resumed' if resumed else 'trained'} from the shell: "
        f"{config.own_env.reason}; in Python: {call}.learn(STEPS, out={str(directory)!r})"
    )


def resume(directory: Path, steps: int | None, device: str | None = None) -> bool:
    """Resume a run, up to `steps` in all; return False if it was interrupted."""
    config = files.read_config(directory)
    steps = config.steps if steps is None else steps
    config = replace(config, steps=steps, device=device or config.device)
    _require_makeable(config, directory, resumed=True)
    if not Checkpoint(directory / CHECKPOINT).exists():
        lost = _lost_checkpoint(directory)
        out = "another directory, or remove this one" if lost else directory
        raise UserError(
            f"{directory} cannot be resumed: "
            f"{'its checkpoint is gone' if lost else 'it was never saved'}; "
            f"to start over: vast train --config {directory} --out {out}"
        )
    return train(directory, config)


@contextmanager
def open_readonly(directory: Path, device: str | None = None) -> Iterator[Run]:
    """Yield a run as it was last saved, to look at; by default on its own device, if it is here."""
    config = files.read_config(directory)
    config = replace(config, device=device or available_or_cpu(config.device))
    with opened(directory, config) as run:
        run.load_agent()
        with limited_threads(config.threads):
            yield run
