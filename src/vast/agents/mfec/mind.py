"""The MFEC agent: repeats what once went best."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from vast.agents.mfec.config import MFECConfig
from vast.agents.mind import Mind, Values
from vast.agents.neighbours import Keys, Memory
from vast.agents.projection import Projection
from vast.training.protocol import State


class MFECMind(Mind):
    """Model-free episodic control (Blundell et al. 2016, algorithm 1).

    One memory per action holds the highest discounted return that ever followed the action in each
    state. A state that was never met is given the mean of its nearest neighbours, or 0 if the
    action was never taken. An episode that is cut off counts as far as it went: there is nothing
    to bootstrap from.
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        dtype: DTypeLike,
        n_actions: int,
        config: MFECConfig,
        seed: np.random.SeedSequence,
    ) -> None:
        acting, drawing = seed.spawn(2)
        super().__init__(shape, dtype, n_actions, config, acting)
        self.config = config
        self._project = Projection(self.shape, config.history, config.projection, 0.0, drawing)
        self.memories = [
            Memory(config.capacity, config.projection, config.inverted) for _ in range(n_actions)
        ]
        self._key: Keys = np.zeros(config.projection, np.float32)
        self._episode: list[tuple[Keys, int, float]] = []
        """key, action and reward of each step since the episode began"""

    def embed(self, seen: NDArray[Any]) -> Keys:
        """Return the key of what is seen, [k + 1, *shape]."""
        return self._project(seen)

    def values(self, seen: NDArray[Any]) -> Values:
        """Return the return stored or estimated for each action."""
        return self._look(self.embed(seen))[0]

    def facts(self) -> dict[str, float]:
        """Return a few numbers to show while it learns, in words for people."""
        return {**super().facts(), "entries": sum(map(len, self.memories))}

    def _sizes(self) -> dict[str, float]:
        return {"memory/entries": sum(map(len, self.memories))}

    def _look(self, key: Keys) -> tuple[Values, list[NDArray[np.int64]], int]:
        """Return the values of each action, the rows they come from, and how many were stored."""
        values, rows, exact = np.zeros(self.n_actions), [], 0
        for a, memory in enumerate(self.memories):
            row = memory.find(key)
            if row is not None:
                rows.append(np.array([row]))
                exact += 1
            else:
                rows.append(memory.nearest(key[None], self.config.neighbours).rows[0])
            if len(rows[a]):
                values[a] = memory.values(rows[a]).mean()
        return values, rows, exact

    def _values_to_act_on(self) -> Values:
        values, rows, exact = self._look(self._key)
        for memory, used in zip(self.memories, rows, strict=True):
            memory.touch(used[::-1])
        self._tally.add("memory/exact", exact / self.n_actions)
        return values

    def _begun(self) -> None:
        self._key = self.embed(self._seen.frames)

    def _stepped(self, action: int, reward: float) -> None:
        self._episode.append((self._key, action, reward))
        self._key = self.embed(self._seen.frames)

    def _terminated(self, action: int, reward: float) -> None:
        self._episode.append((self._key, action, reward))
        self._write()

    def _cut_off(self) -> None:
        self._write()

    def _write(self) -> None:
        """Store the returns of the episode where they are higher than what is there."""
        following = 0.0
        for key, action, reward in reversed(self._episode):
            following = reward + self.config.discount * following
            memory = self.memories[action]
            row = memory.find(key)
            if row is None:
                memory.add(key, following)
            else:
                memory.set_values([row], np.maximum(memory.values([row]), following))
                memory.touch([row])
        self._episode = []

    def _own_state(self) -> State:
        keys, actions, rewards = zip(*self._episode, strict=True) if self._episode else ((),) * 3
        width = self.config.projection
        return {
            "directions": self._project.directions.copy(),
            "memories": [memory.state_dict() for memory in self.memories],
            "key": self._key.copy(),
            "episode": {
                "keys": np.array(keys, np.float32).reshape(-1, width),
                "actions": np.array(actions, np.int64),
                "rewards": np.array(rewards, np.float64),
            },
        }

    def _load_own_state(
        self, state: Mapping[str, Any], frames: Iterable[Mapping[str, Any]]
    ) -> None:
        self._project.load(state["directions"])
        for memory, saved in zip(self.memories, state["memories"], strict=True):
            memory.load_state_dict(saved)
        self._key = np.array(state["key"], np.float32)
        episode = state["episode"]
        self._episode = [
            (np.array(key, np.float32), int(action), float(reward))
            for key, action, reward in zip(
                episode["keys"], episode["actions"], episode["rewards"], strict=True
            )
        ]
