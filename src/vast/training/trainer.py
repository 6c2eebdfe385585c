"""The trainer: agent, environment and loop, put together once for runs and for `learn` alike.

Test epochs and rows of metrics come at multiples of their intervals only, never because a run
ends, and no schedule depends on the total number of steps. So a run that was stopped and resumed
equals the run that never stopped.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from vast.training import global_rng
from vast.training.actor import Actor, set_env_settings
from vast.training.callbacks import Callback, Row
from vast.training.loop_config import LoopConfig
from vast.training.plain import first_difference
from vast.training.protocol import Env, Intervention, StateDict, Trainable


class Seeds(NamedTuple):
    """What is random in a run, each part with a seed of its own."""

    episodes: np.random.SeedSequence
    """with which the environment is reset"""
    agent: np.random.SeedSequence
    """from which all of the agent's own generators follow"""
    acting: np.random.SeedSequence
    """for ties between actions when users call `act`"""


def seeds_from(seed: int) -> Seeds:
    """Derive all seeds of a run from one number."""
    return Seeds(*np.random.SeedSequence(seed).spawn(3))


@dataclass(frozen=True)
class Plan:
    """What happens beside acting and learning, and when."""

    loop: LoopConfig = field(default_factory=LoopConfig)
    """when to test and to log"""
    test: Callable[[int], Row] | None = None
    """called with the step to run a test epoch; returns its metrics. None: no tests"""
    interventions: Sequence[tuple[int, Intervention]] = ()
    """what happens at which step, in the order of the steps"""


class Trainer:
    """Runs the loop: act, train, test, log.

    Args:
        agent: what learns.
        env: where it learns.
        seed: the run's seed.
    """

    def __init__(self, agent: Trainable, env: Env, seed: int) -> None:
        self.agent = agent
        self.actor = Actor(env, seeds_from(seed).episodes)
        self._intervened = 0  # how many of them have happened
        self._logged = 0  # the last step whose test epoch and row of metrics are done
        self._wall = 0.0
        self._begun = time.perf_counter()

    @property
    def wall_seconds(self) -> float:
        """Time spent in this run, including earlier processes."""
        return self._wall + time.perf_counter() - self._begun

    @property
    def intervened(self) -> int:
        """How many interventions have happened, in the order of their steps."""
        return self._intervened

    def run(self, total: int, callbacks: Iterable[Callback] = (), plan: Plan | None = None) -> bool:
        """Go on until `total` steps in all; return False if a callback stopped it before."""
        agent, callbacks, plan = self.agent, tuple(callbacks), plan or Plan()

        def stopped() -> bool:
            # All are called, whatever the others say.
            return True in {bool(callback.on_step(agent, total)) for callback in callbacks}

        moved = False
        while True:
            # A step that was logged was trained on: a run saved after that must not train again.
            while agent.steps != self._logged and agent.train():
                if stopped():
                    return False
            self._log(plan, callbacks)
            self._intervene(plan)
            stop = moved and stopped()
            if agent.steps >= total:
                return True
            if stop:
                return False
            self.actor.step(agent)
            moved = True

    def _log(self, plan: Plan, callbacks: Sequence[Callback]) -> None:
        step = self.agent.steps
        if step == self._logged:
            return
        self._logged = step
        found: Row = {}
        if plan.test is not None and step % plan.loop.eval_every == 0:
            found |= plan.test(step)
        if found or step % plan.loop.log_every == 0:
            found |= self.agent.metrics() | self.actor.metrics()
            row = {"step": step, "wall_seconds": self.wall_seconds, **found}
            for callback in callbacks:
                callback.on_metrics(row)

    def _intervene(self, plan: Plan) -> None:
        planned = plan.interventions
        while self._intervened < len(planned) and planned[self._intervened][0] <= self.agent.steps:
            self.actor.intervene(self.agent, planned[self._intervened][1])
            self._intervened += 1

    def state_dict(self) -> StateDict:
        """Return everything that the rest of the run depends on except the frames."""
        return {
            "identity": self.agent.identity(),
            "agent": self.agent.state_dict(),
            "actor": self.actor.state_dict(),
            "global_rng": global_rng.state_dict(),
            "intervened": self._intervened,
            "logged": self._logged,
            "wall_seconds": self.wall_seconds,
        }

    def load_state_dict(
        self, state: Mapping[str, Any], frames: Iterable[Mapping[str, Any]] = ()
    ) -> None:
        """Continue from a saved state; ValueError if it belongs to another agent."""
        self._load_agent(state, frames)
        self.actor.load_state_dict(state["actor"], self.agent)
        global_rng.load_state_dict(state["global_rng"])
        self._intervened, self._logged = int(state["intervened"]), int(state["logged"])
        self._wall, self._begun = float(state["wall_seconds"]), time.perf_counter()

    def load_agent(
        self, state: Mapping[str, Any], frames: Iterable[Mapping[str, Any]] = ()
    ) -> None:
        """Restore the agent and the environment's settings only, to look at rather than train."""
        self._load_agent(state, frames)
        set_env_settings(self.actor.env, state["actor"]["settings"])

    def _load_agent(self, state: Mapping[str, Any], frames: Iterable[Mapping[str, Any]]) -> None:
        difference = first_difference(state["identity"], self.agent.identity())
        if difference is not None:
            raise ValueError(f"it belongs to another run: {difference}")
        self.agent.load_state_dict(state["agent"], frames)
