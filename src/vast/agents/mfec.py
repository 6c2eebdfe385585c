"""Model-Free Episodic Control: the agent repeats what once had the highest return."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vast.agents.base import Agent, Values
from vast.agents.config import NeighbourConfig
from vast.agents.core import SeedPair
from vast.agents.nearest import Keys
from vast.agents.neighbours import KeyValueMemory
from vast.agents.presets import shared
from vast.agents.projection import Projection
from vast.checks import at_least, fits
from vast.training.protocol import Pose, StateDict


@dataclass(frozen=True)
class MFECConfig(NeighbourConfig):
    """The hyperparameters of MFEC, from Blundell et al. 2016; the rest is the paper's."""

    projection: int = 64
    """dimensions of a key, Gaussian random projections; Blundell et al. 2016"""
    neighbours: int = 11
    """k, nearest entries over which an unknown value is averaged; Blundell et al. 2016"""
    capacity: int = 500_000
    """entries per action, of which the least recently used is replaced; as the paper's NEC"""

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(1, projection=self.projection, neighbours=self.neighbours)
        at_least(1, capacity=self.capacity)
        fits(capacity=self.capacity)


PRESETS: dict[str, dict[str, Any]] = {
    "paper": {"index": "inverted"},
    "cpu": {"index": "inverted"},
    "debug": {"projection": 8, "capacity": 60},
}
"""what each preset sets beside what all agents share"""


def preset(name: str, task: str | None, shape: tuple[int, ...]) -> MFECConfig:
    """Return the config of a preset."""
    return MFECConfig(**shared(name, task, shape), **PRESETS[name])


class MFEC(Agent):
    """Model-free episodic control (Blundell et al. 2016, Algorithm 1).

    One memory per action stores the highest discounted return that ever followed the action in each
    state. An unknown state has the mean value of its nearest neighbours, or 0 if the action was
    never taken. An episode that is cut off counts as far as it went: there is nothing to bootstrap
    from.
    """

    name = "mfec"
    config_class = MFECConfig
    config: MFECConfig

    def _build(self, seeds: SeedPair) -> None:
        config, (drawing, _) = self.config, seeds
        self._project = Projection(self.shape, config.history, config.projection, 0.0, drawing)
        self.memories = [
            KeyValueMemory(config.capacity, config.projection, config.inverted)
            for _ in range(self.n_actions)
        ]
        self._key: Keys = np.zeros(config.projection, np.float32)
        self._episode: list[tuple[Keys, int, float]] = []
        """key, action and reward of each step since the episode began"""

    def embed(self, history: NDArray[Any]) -> Keys:
        """Return the key of a frame after the k before it, [k + 1, *shape]."""
        return self._project(history)

    def values(self, history: NDArray[Any]) -> Values:
        """Return the stored or estimated return of each action."""
        return self._look_up(self.embed(history))[0]

    def progress_stats(self) -> dict[str, float]:
        """Return a few statistics to show beside the progress bar."""
        return {**super().progress_stats(), "entries": sum(map(len, self.memories))}

    def _sizes(self) -> dict[str, float]:
        return {"memory/entries": sum(map(len, self.memories))}

    def _look_up(self, key: Keys) -> tuple[Values, list[NDArray[np.int64]], int]:
        """Return the value of each action, the rows it comes from, and how many were exact."""
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

    def _decision_values(self) -> Values:
        values, rows, exact = self._look_up(self._key)
        for memory, used in zip(self.memories, rows, strict=True):
            memory.touch(used[::-1])
        self._means.add("memory/exact", exact / self.n_actions)
        return values

    def _begun(self, pose: Pose | None) -> None:
        self._key = self.embed(self._frames.history)

    def _stepped(self, action: int, reward: float, pose: Pose | None) -> None:
        self._episode.append((self._key, action, reward))
        self._key = self.embed(self._frames.history)

    def _terminated(self, action: int, reward: float) -> None:
        self._episode.append((self._key, action, reward))
        self._write()

    def _cut_off(self) -> None:
        self._write()

    def _write(self) -> None:
        """Store the returns of the episode where they are higher than the stored ones."""
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

    def _own_state(self) -> StateDict:
        keys, actions, rewards = zip(*self._episode, strict=True) if self._episode else ((),) * 3
        width = self.config.projection
        return {
            "projection": self._project.state_dict(),
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
        self._project.load_state_dict(state["projection"])
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
