"""Acting on the table: the newest observations become a state, the state has values."""

from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vast.agents.vast.restless import Restless
from vast.model.tabulator import Tabulator
from vast.planning import TransitionTable
from vast.replay.shrinking import Shrinking
from vast.training.exploration import explores, greedy
from vast.training.protocol import Observation


class TablePolicy:
    """Epsilon-greedy on the neighbour estimate, with a memory of its own for the k last frames."""

    def __init__(
        self,
        tabulator: Tabulator,
        table: TransitionTable,
        shrinking: Shrinking,
        restless: Restless,
        epsilon: float,
        rng: np.random.Generator,
    ) -> None:
        self._tabulator = tabulator
        self._table = table
        self._shrinking = shrinking
        self._restless = restless
        self._epsilon = epsilon
        self._rng = rng
        self._seen: deque[Observation] = deque(maxlen=tabulator.config.history + 1)

    def begin(self, observation: Observation) -> None:
        """See the first observation of an episode; before it all was blank."""
        small = self._shrinking(observation)
        self._restless.begin()
        self._seen.extend([np.zeros_like(small)] * self._tabulator.config.history)
        self._seen.append(small)

    def act(self) -> int:
        """Choose an action."""
        if explores(self._epsilon, self._rng):
            return int(self._rng.integers(self._tabulator.n_actions))
        state = self.state()
        q = self._restless.worth(self._seen[-1], state, self._table.estimate(state)[0])
        action = greedy(q, self._rng)
        self._restless.take(self._seen[-1], action)
        return action

    def observe(self, observation: Observation) -> None:
        """See what came of it."""
        self._seen.append(self._shrinking(observation))

    def q_values(self) -> NDArray[np.float64]:
        """Return the neighbour estimate of each action's value."""
        return self._table.estimate(self.state())[0]

    def state(self) -> int:
        """Return the state of the newest observation."""
        return int(self._tabulator.encode(self.history()[None])[0])

    def history(self) -> NDArray[Any]:
        """Return the newest observation after the k before it, as they are stored."""
        return np.stack(self._seen)
