"""The LSH agent: what was seen becomes a code at once and for ever, and the table does the rest."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from vast.agents.lsh.config import LSHConfig
from vast.agents.mind import Mind, Values
from vast.agents.projection import Projection
from vast.agents.tables import Visits, sweeper
from vast.model import codes
from vast.planning import TransitionTable
from vast.training.protocol import State


class LSHMind(Mind):
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
        acting, drawing = seed.spawn(2)
        super().__init__(shape, dtype, n_actions, config, acting)
        self.config = config
        constant = config.constant if len(self.shape) == 1 else 0.0
        self._project = Projection(self.shape, config.history, config.n_bits, constant, drawing)
        self.table = TransitionTable(n_actions, config.discount, config.min_priority)
        self._sweeper = sweeper(self.table, config.planner, config.backups_per_step)
        self._visits = Visits(self.table)
        self._state = 0

    def encode(self, seen: NDArray[Any]) -> int:
        """Return the state of what is seen, [k + 1, *shape]."""
        return int(codes.pack(self._project(seen) > 0))

    def values(self, seen: NDArray[Any]) -> Values:
        """Return the table's estimates for each action."""
        return self.table.estimate(self.encode(seen))[0]

    def facts(self) -> dict[str, float]:
        """Return a few numbers to show while it learns, in words for people."""
        return {
            **super().facts(),
            "states": len(self.table),
            "backups/s": self._sweeper.statistics.backups_per_second,
        }

    def _sizes(self) -> dict[str, float]:
        return self._visits.metrics()

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
        self._visits.note(1, self.table.count(state, action) > 0)
        self.table.add(state, action, reward, after)
        self._sweeper.plan()

    def _values_to_act_on(self) -> Values:
        q, distance = self.table.estimate(self._state)
        self._tally.add("table/lookup_distance", float(distance.mean()))
        return q

    def _own_state(self) -> State:
        return {
            "directions": self._project.directions.copy(),
            "state": self._state,
            "table": self.table.state_dict(),
            "visits": self._visits.counts(),
        }

    def _load_own_state(
        self, state: Mapping[str, Any], frames: Iterable[Mapping[str, Any]]
    ) -> None:
        self._project.load(state["directions"])
        self.table.load_state_dict(state["table"])
        self._visits.load_counts(state["visits"])
        self._state = int(state["state"])
