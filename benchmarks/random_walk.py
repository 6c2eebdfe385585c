"""Observations of a random walk, from which benchmarks fill memories and replays."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vast.tasks import make_env
from vast.training.protocol import Observation
from vast.training.rollout import episode_seeds, rollout
from vast.training.spaces import spaces_of


class RandomPolicy:
    """Chooses each action with the same probability."""

    def __init__(self, n_actions: int, seed: int = 0) -> None:
        self._n_actions, self._rng = n_actions, np.random.default_rng(seed)

    def begin(self, observation: Observation) -> None:
        """Ignore the first observation."""

    def act(self) -> int:
        """Choose an action."""
        return int(self._rng.integers(self._n_actions))

    def q_values(self) -> NDArray[np.float64]:
        """Return the same value for each action."""
        return np.zeros(self._n_actions)

    def observe(self, observation: Observation, action: int | None = None) -> None:
        """Ignore the observation."""


def random_walk(task: str) -> Iterator[NDArray[Any]]:
    """Yield the observations of a random walk, episode after episode, without end."""
    with closing(make_env(task)) as env:
        policy = RandomPolicy(spaces_of(env).n_actions)
        for step in rollout(policy, env, episode_seeds(np.random.SeedSequence(0))):
            yield step.observation
