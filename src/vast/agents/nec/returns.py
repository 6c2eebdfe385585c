"""N-step returns: the rewards of the next N steps, and the value of the state after them."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vast.agents.nearest import Keys


class Step(NamedTuple):
    """A step, whose return may not be known yet."""

    number: int
    """of the frame at which it was taken"""
    key: Keys
    """the embedding of its observation"""
    action: int
    reward: float


class Returns:
    """The last steps of an episode, waiting for their returns."""

    def __init__(self, n_steps: int, discount: float, width: int) -> None:
        self.n_steps, self.discount, self.width = n_steps, discount, width
        self._steps: list[Step] = []

    def add(self, step: Step) -> None:
        """Append a step."""
        self._steps.append(step)

    @property
    def is_due(self) -> bool:
        """Whether the oldest step has been followed by N rewards."""
        return len(self._steps) == self.n_steps

    def take_oldest(self, value: float) -> tuple[Step, float]:
        """Return the oldest step and its return, given the value of the current state."""
        following = self._returns(value)[0]
        return self._steps.pop(0), float(following)

    def take_all(self, value: float) -> list[tuple[Step, float]]:
        """Return all steps and their returns, shorter than N at an episode's end."""
        done = list(zip(self._steps, self._returns(value).tolist(), strict=True))
        self._steps = []
        return done

    def _returns(self, value: float) -> NDArray[np.float64]:
        returns = np.zeros(len(self._steps))
        for i in reversed(range(len(self._steps))):
            value = self._steps[i].reward + self.discount * value
            returns[i] = value
        return returns

    def state_dict(self) -> dict[str, Any]:
        """Return the waiting steps."""
        columns = zip(*self._steps, strict=True) if self._steps else ((),) * 4
        numbers, keys, actions, rewards = columns
        return {
            "numbers": np.array(numbers, np.int64),
            "keys": np.array(keys, np.float32).reshape(-1, self.width),
            "actions": np.array(actions, np.int64),
            "rewards": np.array(rewards, np.float64),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore the waiting steps."""
        self._steps = [
            Step(int(number), np.array(key, np.float32), int(action), float(reward))
            for number, key, action, reward in zip(
                *(state[name] for name in ("numbers", "keys", "actions", "rewards")), strict=True
            )
        ]
