"""Acting on the table: the newest observations become a state, the state has values."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vast.agents.seen import Seen
from vast.agents.vast.restless import Restless
from vast.model.tabulator import Tabulator
from vast.planning import TransitionTable
from vast.training.exploration import explores, greedy
from vast.training.protocol import Observation


class TablePolicy:
    """Epsilon-greedy on the neighbour estimate, with a memory of its own for the k last frames."""

    def __init__(
        self,
        tabulator: Tabulator,
        table: TransitionTable,
        seen: Seen,
        restless: Restless,
        epsilon: float,
        rng: np.random.Generator,
    ) -> None:
        self._tabulator = tabulator
        self._table = table
        self._seen = seen
        self._restless = restless
        self._epsilon = epsilon
        self._rng = rng

    def begin(self, observation: Observation) -> None:
        """See the first observation of an episode; before it all was blank."""
        self._restless.begin()
        self._seen.begin(observation)

    def act(self) -> int:
        """Choose an action."""
        if explores(self._epsilon, self._rng):
            return int(self._rng.integers(self._tabulator.n_actions))
        state, newest = self.state(), self._seen.frames[-1]
        q = self._restless.worth(newest, state, self._table.estimate(state)[0])
        action = greedy(q, self._rng)
        self._restless.take(newest, action)
        return action

    def observe(self, observation: Observation) -> None:
        """See what came of it."""
        self._seen.see(observation)

    def q_values(self) -> NDArray[np.float64]:
        """Return the neighbour estimate of each action's value."""
        return self._table.estimate(self.state())[0]

    def state(self) -> int:
        """Return the state of the newest observation."""
        return int(self._tabulator.encode(self.history()[None])[0])

    def history(self) -> NDArray[Any]:
        """Return the newest observation after the k before it, as they are stored."""
        return self._seen.frames
