"""Acting on the table: the newest observations become a state, the state has values."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vast.agents.seen import Seen
from vast.agents.vast.estimate import Estimate
from vast.agents.vast.marks import Marks
from vast.agents.vast.restless import Restless
from vast.model.tabulator import Tabulator
from vast.training.exploration import explores, greedy
from vast.training.protocol import Observation


class TablePolicy:
    """Epsilon-greedy on the neighbour estimate, with a memory of its own for the k last frames."""

    def __init__(
        self,
        tabulator: Tabulator,
        estimate: Estimate,
        seen: Seen,
        marks: Marks,
        restless: Restless,
        epsilon: float,
        rng: np.random.Generator,
    ) -> None:
        self._tabulator = tabulator
        self._estimate = estimate
        self._seen = seen
        self._marks = marks
        self._restless = restless
        self._epsilon = epsilon
        self._rng = rng
        self._chosen: int | None = None  # the action chosen last
        self._last: int | None = None  # that which led to what is seen
        self._state: int | None = None  # of what is seen, once somebody has asked for it

    def begin(self, observation: Observation) -> None:
        """See the first observation of an episode; before it all was blank."""
        self._restless.begin()
        self._seen.begin(observation)
        self._chosen = self._last = self._state = None

    def act(self) -> int:
        """Choose an action."""
        if explores(self._epsilon, self._rng):
            self._chosen = int(self._rng.integers(self._tabulator.n_actions))
            return self._chosen
        state, newest = self.state(), self._seen.frames[-1]
        q = self._estimate(state)[0]
        self._chosen = greedy(self._restless.worth(newest, state, q), self._rng)
        self._restless.take(newest, state, self._chosen)
        return self._chosen

    def observe(self, observation: Observation, action: int | None = None) -> None:
        """See what came of the action chosen last, or of another that was taken instead."""
        self._seen.see(observation)
        self._last = self._chosen if action is None else action
        self._state = None

    def q_values(self) -> NDArray[np.float64]:
        """Return what each action is worth."""
        return self._estimate(self.state())[0]

    def state(self) -> int:
        """Return the state of the newest observation."""
        if self._state is None:
            code = int(self._tabulator.encode(self.history()[None])[0])
            self._state = self._marks.after(code, self._last)
        return self._state

    def history(self) -> NDArray[Any]:
        """Return the newest observation after the k before it, as they are stored."""
        return self._seen.frames
