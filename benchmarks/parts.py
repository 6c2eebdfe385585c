"""Where the time of a training run goes: an agent and its environment with a timer on each part.

There are no test epochs and no checkpoints. Each second of a thread counts once, for the innermost
part; what belongs to no part is the rest. A run has three phases: the burn-in, the burst of
training at its end, and what comes after.
"""

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.stopwatch import Shares
from vast.agents.vast.agent import VaST
from vast.agents.vast.extensions.recent_rewards import RecentRewards
from vast.agents.vast.extensions.repeat_penalty import RepeatPenalty
from vast.experiments.config import RunConfig
from vast.tasks import make_env
from vast.training.actor import Actor
from vast.training.callbacks import Callback
from vast.training.protocol import Env, Trainable
from vast.training.trainer import Plan, Trainer

PARTS = {
    "environment": ("env.step", "env.reset"),
    "digest of the episode": ("actor._act", "actor._begin"),
    "storing frames": (
        "agent._frames.begin",
        "agent._frames.push",
        "agent.replay.begin",
        "agent.replay.append",
    ),
    "encoding to act": ("agent._tabulate",),
    "neighbour estimate": ("agent.table.estimate",),
    "replay sampling": ("agent.replay.sample", "agent.replay.sample_segments"),
    "training steps": (
        "agent.encoder.train",
        "agent.encoder.train_and_encode",
        "agent.encoder.fit_standardisation",
    ),
    "publishing the encoder": ("agent.encoder.publish",),
    "re-tabulation": ("agent._next_job",),
    "table updates": (
        "agent._states_to_revise",
        "agent.replay.assign",
        "agent.replay.reassign",
        "agent.replay.end_terminal",
    ),
    "counting revisits": ("agent._count_revisits", "agent._count_end"),
    "sweeping": ("agent.table.sweep",),
    "waiting for training": ("agent._jobs.wait",),
}
"""the methods that make up each part"""
EXTENSION_PARTS = {
    RepeatPenalty: ("repeat penalty", ("adjust", "record")),
    RecentRewards: ("recent rewards", ("revise",)),
}
"""the parts that are extensions, if the agent has them"""
REST = "the rest"
WAITING = "main/waiting for training"
PHASES = ("burn-in", "burst", "after")


@dataclass
class Subject:
    """What is timed."""

    env: Env
    actor: Actor
    agent: VaST
    watch: Shares = field(default_factory=Shares)

    def time_parts(self) -> None:
        """Start to time every part that this agent has."""
        for part, paths in PARTS.items():
            for path in paths:
                self.watch.over(self, path, part)
        for extension in self.agent.extensions.parts:
            part, methods = EXTENSION_PARTS.get(type(extension), ("", ()))
            for method in methods:
                self.watch.over(extension, method, part)
        encoder: Any = self.agent.encoder
        encode = encoder.encode

        def timed(histories: Any, *, newest: bool = False) -> Any:
            with self.watch.timing("re-tabulation" if newest else "encoding to act"):
                return encode(histories, newest=newest)

        encoder.encode = timed


class TimePhases(Callback):
    """Records the time that each phase takes, by thread and part."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._at = self._now()
        self._phase = 0
        self.epsilons: list[float] = []
        """at each step after the burst"""
        self.phases: dict[str, dict[str, Any]] = {}

    def on_step(self, agent: Trainable, total: int) -> None:
        """End a phase if the run has reached the next one."""
        config, bursts = self._subject.agent.config, self._subject.agent._bursts
        burnt_in = agent.steps >= config.exploration.burn_in
        phase = int(burnt_in) + int(burnt_in and bursts >= config.training.burst)
        while self._phase < phase:
            self.end_phase()
        if phase == 2:
            self.epsilons.append(config.exploration.epsilon_at(agent.steps))

    def end_phase(self) -> None:
        """Record the phase that ends now."""
        now = self._now()
        then, self._at = self._at, now
        wall = now["wall_seconds"] - then["wall_seconds"]
        parts = {
            name: seconds - then["parts"].get(name, 0.0)
            for name, seconds in now["parts"].items()
            if seconds > then["parts"].get(name, 0.0)
        }
        of_main = sum(seconds for name, seconds in parts.items() if name.startswith("main/"))
        self.phases[PHASES[self._phase]] = {
            **{name: now[name] - then[name] for name in now if name != "parts"},
            "parts": {**parts, f"main/{REST}": max(wall - of_main, 0.0)},
        }
        self._phase += 1

    def _now(self) -> dict[str, Any]:
        agent = self._subject.agent
        return {
            "wall_seconds": time.perf_counter(),
            "cpu_seconds": time.process_time(),
            "steps": agent.steps,
            "trainings": agent._trainings,
            "backups": agent.table.total_backups,
            "parts": self._subject.watch.seconds(),
        }


def profiled(config: RunConfig) -> dict[str, Any]:
    """Train VaST; return the seconds of each phase by thread and part, and the number of states."""
    env = make_env(config.task)
    agent = VaST(env, seed=config.seed, config=config.settings)
    trainer = Trainer(agent, env, config.seed)
    subject = Subject(env, trainer.actor, agent)
    env.reset(seed=0)  # starts the engine
    subject.time_parts()
    phases = TimePhases(subject)
    trainer.run(config.steps, [phases], Plan(config.loop))
    phases.end_phase()
    found = {
        "phases": phases.phases,
        "states": len(agent.table),
        "mean_epsilon_after": float(np.mean(phases.epsilons)),
    }
    agent.close()
    env.close()
    return found
