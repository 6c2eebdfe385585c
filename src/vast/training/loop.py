"""The training loop: act, train, test, log, save. Written for any agent, and for exact resume.

Test epochs and rows of metrics come at multiples of their intervals only, never because a run
ends, and no schedule knows the total number of steps. So a run that was stopped and resumed is the
run that never stopped.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from vast.errors import UserError
from vast.training import chance
from vast.training.actor import Actor
from vast.training.protocol import Agent, Intervention, State

Row = dict[str, float]


@dataclass(frozen=True)
class LoopConfig:
    """When what is looked at; environment steps."""

    eval_every: int = 25_000
    """between two test epochs; supplement, 'Extended sample efficiency results'"""
    eval_steps: int = 1000
    """of a test epoch; supplement"""
    eval_epsilon: float = 0.05
    """share of random actions in a test epoch; supplement"""
    log_every: int = 1000
    """between two rows of metrics"""

    def __post_init__(self) -> None:
        for name in ("eval_every", "eval_steps", "log_every"):
            if getattr(self, name) < 1:
                raise UserError(f"{name} {getattr(self, name)}: allowed is 1 or more steps")
        if not 0 <= self.eval_epsilon <= 1:
            raise UserError(f"eval_epsilon {self.eval_epsilon}: allowed is 0 to 1")


class Watcher(Protocol):
    """What looks on while an agent is trained; none of it changes what the agent does."""

    def tick(self, agent: Agent, total: int) -> bool:
        """Be called after every step, of the environment or of training; return True to stop."""
        ...

    def row(self, step: int, wall_seconds: float, row: Row) -> None:
        """Be given a row of metrics."""
        ...


class Loop:
    """An agent, its actor, and what is to happen when."""

    def __init__(
        self,
        agent: Agent,
        actor: Actor,
        config: LoopConfig,
        test: Callable[[int], Row] | None = None,
        interventions: Sequence[tuple[int, Intervention]] = (),
    ) -> None:
        self.agent = agent
        self.actor = actor
        self.config = config
        self._test = test
        self._interventions = sorted(interventions, key=lambda planned: planned[0])
        self._intervened = 0  # how many of them have happened
        self._looked_at = 0  # the last step whose test epoch and row of metrics are done
        self._wall = 0.0
        self._begun = time.perf_counter()

    @property
    def wall_seconds(self) -> float:
        """Time spent in this run, in earlier processes, too."""
        return self._wall + time.perf_counter() - self._begun

    def run(self, total: int, watcher: Watcher) -> bool:
        """Go on up to `total` steps in all; return whether it came so far."""
        agent = self.agent
        while True:
            # What was looked at is trained: a run that was saved after that must not train again.
            while agent.steps != self._looked_at and agent.train():
                if watcher.tick(agent, total):
                    return False
            self._look(watcher)
            self._intervene()
            stop = watcher.tick(agent, total)
            if agent.steps >= total:
                return True
            if stop:
                return False
            self.actor.step(agent)

    def _look(self, watcher: Watcher) -> None:
        step, config = self.agent.steps, self.config
        if step == self._looked_at:
            return
        row: Row = {}
        if self._test is not None and step % config.eval_every == 0:
            row |= self._test(step)
        if row or step % config.log_every == 0:
            row |= self.agent.metrics() | self.actor.metrics()
            watcher.row(step, self.wall_seconds, row)
        self._looked_at = step

    def _intervene(self) -> None:
        planned = self._interventions
        while self._intervened < len(planned) and planned[self._intervened][0] <= self.agent.steps:
            self.actor.intervene(self.agent, planned[self._intervened][1])
            self._intervened += 1

    def state_dict(self) -> State:
        """Return all that the rest of the run depends on, but for the frames."""
        return {
            "agent": self.agent.state_dict(),
            "actor": self.actor.state_dict(),
            "chance": chance.state_dict(),
            "intervened": self._intervened,
            "looked_at": self._looked_at,
            "wall_seconds": self.wall_seconds,
        }

    def load_state_dict(self, state: Mapping[str, Any], frames: Any) -> None:
        """Go on from there."""
        self.agent.load_state_dict(state["agent"], frames)
        self.actor.load_state_dict(state["actor"], self.agent)
        chance.load_state_dict(state["chance"])
        self._intervened, self._looked_at = int(state["intervened"]), int(state["looked_at"])
        self._wall, self._begun = float(state["wall_seconds"]), time.perf_counter()
