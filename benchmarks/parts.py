"""Where the seconds of a training run go: an agent and its world with a stopwatch on each part.

Test epochs and checkpoints are left out. Each second of a thread is counted once, for the innermost
part at work; what belongs to no part is the rest. Three phases are told apart: the burn-in, the
burst of training at its end, and what comes after.
"""

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.stopwatch import Shares
from vast.agents.registry import KINDS
from vast.agents.vast.mind import VaSTMind
from vast.envs.tasks import make_env
from vast.experiments.config import RunConfig
from vast.training.actor import Actor, spaces_of
from vast.training.loop import Loop, Row
from vast.training.protocol import Agent

PARTS = {
    "environment": ("env.step", "env.reset"),
    "digest of the episode": ("actor._act", "actor._begin"),
    "storing frames": ("mind._shrinking", "mind.replay.begin", "mind.replay.append"),
    "encoding to act": ("mind._tabulate",),
    "neighbour estimate": ("mind.table.estimate",),
    "restlessness": ("mind._restless.worth", "mind._restless.take"),
    "replay sampling": ("mind.replay.sample", "mind.replay.sample_segments"),
    "training steps": (
        "mind.tabulator.train",
        "mind.tabulator.train_and_encode",
        "mind.tabulator.fit_standardisation",
    ),
    "publishing the encoder": ("mind.tabulator.publish",),
    "re-tabulation": ("mind._next_task",),
    "table updates": (
        "mind._assigned",
        "mind.replay.assign",
        "mind.replay.reassign",
        "mind.replay.end_terminal",
    ),
    "recent rewards": ("mind._recent.revise",),
    "counting revisits": ("mind._count_revisits", "mind._count_end"),
    "sweeping": ("mind.table.sweep",),
    "waiting for training": ("mind._lockstep.wait",),
}
"""the methods in which each part is at work"""
REST = "the rest"
WAITING = "main/waiting for training"
PHASES = ("burn-in", "burst", "after")


@dataclass
class Subject:
    """What a stopwatch is put on."""

    env: Any
    actor: Actor
    mind: VaSTMind
    watch: Shares = field(default_factory=Shares)

    def watched(self) -> None:
        """Put the stopwatch on every part that this agent has."""
        for part, places in PARTS.items():
            for place in places:
                if self.mind._recent is not None or "._recent." not in place:
                    self.watch.over(self, place, part)
        encode = self.mind.tabulator.encode

        def timed(observations: Any, *, newest: bool = False) -> Any:
            with self.watch.timing("re-tabulation" if newest else "encoding to act"):
                return encode(observations, newest=newest)

        vars(self.mind.tabulator)["encode"] = timed


class Moments:
    """Notes what the time is, and what the stopwatch shows, when a phase ends."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._at = self._now()
        self._phase = 0
        self.epsilons: list[float] = []
        """at each step after the burst"""
        self.phases: dict[str, dict[str, Any]] = {}

    def tick(self, agent: Agent, total: int) -> bool:
        """Look where the run is."""
        config, mind = self._subject.mind.config, self._subject.mind
        burnt_in = agent.steps >= config.exploration.burn_in
        phase = int(burnt_in) + int(burnt_in and mind._bursts >= config.training.burst)
        while self._phase < phase:
            self.end_phase()
        if phase == 2:
            self.epsilons.append(config.exploration.epsilon_at(agent.steps))
        return False

    def row(self, step: int, wall_seconds: float, row: Row) -> None:
        """Do nothing: metrics are for others."""

    def end_phase(self) -> None:
        """Note what it took."""
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
        mind = self._subject.mind
        return {
            "wall_seconds": time.perf_counter(),
            "cpu_seconds": time.process_time(),
            "steps": mind.steps,
            "trainings": mind._trainings,
            "backups": mind.table.total_backups,
            "parts": self._subject.watch.seconds(),
        }


def profiled(config: RunConfig) -> dict[str, Any]:
    """Run it; return what each phase took, in seconds by thread and part, and what there was."""
    env = make_env(config.task)
    living, thinking = np.random.SeedSequence(config.seed).spawn(2)
    mind = KINDS["vast"].make(spaces_of(env), config.settings, thinking)
    assert isinstance(mind, VaSTMind)
    subject = Subject(env, Actor(env, living), mind)
    env.reset(seed=0)  # starts the engine
    subject.watched()
    moments = Moments(subject)
    Loop(mind, subject.actor, config.loop).run(config.steps, moments)
    moments.end_phase()
    found = {
        "phases": moments.phases,
        "states": len(mind.table),
        "mean_epsilon_after": float(np.mean(moments.epsilons)),
    }
    mind.close()
    env.close()
    return found
