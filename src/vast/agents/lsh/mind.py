"""The LSH agent: what was seen becomes a code at once and for ever, and the table does the rest."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from vast.agents import chance
from vast.agents.lsh.config import LSHConfig
from vast.agents.mind import Mind, Values
from vast.agents.projection import Projection
from vast.model import codes
from vast.planning import BackgroundSweeper, InlineSweeper, Sweeper, TransitionTable
from vast.training.protocol import State


class LSH(Mind):
    """Prioritized sweeping on locality-sensitive codes (paper, section 3.1; Charikar 2002).

    Bit i of a state is whether v_i . o > 0, for fixed v_i. No network, no replay: each transition
    is counted as it comes. Of two observations at an angle, each bit differs with probability
    angle / pi.
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        dtype: DTypeLike,
        n_actions: int,
        config: LSHConfig,
        seed: np.random.SeedSequence,
    ) -> None:
        super().__init__(shape, dtype, n_actions, config.history, config.exploration, seed)
        self.config = config
        constant = config.constant if len(self.shape) == 1 else 0.0
        self._project = Projection(
            self.shape, config.history, config.n_bits, constant, chance.child(seed, 1)
        )
        self.table = TransitionTable(n_actions, config.discount, config.min_priority)
        self._sweeper: Sweeper = (
            BackgroundSweeper(self.table)
            if config.planning == "background"
            else InlineSweeper(self.table, config.backups_per_step)
        )
        self._sweeper.start()
        self._state = 0

    def encode(self, seen: NDArray[Any]) -> int:
        """Return the state of what is seen, [k + 1, *shape]."""
        return int(codes.pack(self._project(seen) > 0))

    def values(self, seen: NDArray[Any]) -> Values:
        """Return the table's estimates for each action."""
        return self.table.estimate(self.encode(seen))[0]

    def metrics(self) -> dict[str, float]:
        """Return the size of the table, and what was measured since the last call."""
        return {
            **super().metrics(),
            "table/states": len(self.table),
            "table/transitions": self.table.n_transitions,
            "table/backups": self.table.total_backups,
            "table/queue": self.table.queue_length,
        }

    def close(self) -> None:
        """End planning in the background."""
        self._sweeper.stop()

    def _begun(self) -> None:
        self._state = self.encode(self._seen.frames)

    def _stepped(self, action: int, reward: float) -> None:
        before, self._state = self._state, self.encode(self._seen.frames)
        self._count(before, action, reward, self._state)

    def _terminated(self, action: int, reward: float) -> None:
        self._count(self._state, action, reward, None)

    def _count(self, state: int, action: int, reward: float, after: int | None) -> None:
        self._means.note("table/revisited", self.table.count(state, action) > 0)
        self.table.add(state, action, reward, after)

    def _learn(self) -> None:
        self._sweeper.plan()

    def _values_to_act_on(self) -> Values:
        q, distance = self.table.estimate(self._state)
        known = distance[distance >= 0]
        self._means.note("table/lookup_distance", known.sum(), len(known))
        return q

    def _own_state(self) -> State:
        return {
            "directions": self._project.directions.copy(),
            "state": self._state,
            "table": self.table.state_dict(),
        }

    def _load_own_state(
        self, state: Mapping[str, Any], frames: Iterable[Mapping[str, Any]]
    ) -> None:
        self._project.load(state["directions"])
        self.table.load_state_dict(state["table"])
        self._state = int(state["state"])
