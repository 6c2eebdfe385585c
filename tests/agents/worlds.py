"""Environments and agents that are small enough to be tried by the hundred."""

from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from tests.planning.models import Step
from vast.agents.vast.agent import VaST
from vast.agents.vast.config import PlanningConfig, ReplayConfig, TrainingConfig, VaSTConfig
from vast.model.config import ModelConfig, NetworkConfig
from vast.model.tabulator import Tabulator
from vast.replay.episodes import Fate
from vast.training.exploration import ExplorationConfig
from vast.training.spaces import Spaces

SIZE = 4
MOVES = ((0, 1), (1, 0), (0, -1), (-1, 0))


def picture(row: int, column: int) -> NDArray[np.uint8]:
    """Return the world as seen from a place: one bright pixel."""
    seen = np.zeros((SIZE, SIZE, 1), np.uint8)
    seen[row, column] = 255
    return seen


class Grid(gymnasium.Env[NDArray[np.uint8], np.int64]):
    """Four by four places seen from above; a corner ends the episode with a reward.

    `hidden` is chance that no seed governs: now and then a step leads elsewhere.
    """

    def __init__(self, hidden: np.random.Generator | None = None) -> None:
        self.observation_space = spaces.Box(0, 255, (SIZE, SIZE, 1), np.uint8)
        self.action_space = spaces.Discrete(len(MOVES))
        self._at = np.zeros(2, int)
        self._hidden = hidden

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.uint8], dict[str, Any]]:
        super().reset(seed=seed)
        self._at = self.np_random.integers(SIZE - 1, size=2)
        return picture(*self._at), {}

    def step(self, action: np.int64) -> tuple[NDArray[np.uint8], float, bool, bool, dict[str, Any]]:
        chance = self.np_random if self._hidden is None else self._hidden
        if chance.random() < 0.2:
            action = np.int64(chance.integers(len(MOVES)))
        self._at = np.clip(self._at + MOVES[action], 0, SIZE - 1)
        ended = bool((self._at == SIZE - 1).all())
        return picture(*self._at), float(ended), ended, False, {}


TINY = VaSTConfig(
    model=ModelConfig(
        n_bits=3,
        network=NetworkConfig(kind="mlp", mlp_hidden=(8,), transition_hidden=(4,)),
        learning_rate=0.05,
    ),
    replay=ReplayConfig(capacity=200),
    training=TrainingConfig(every=4, batch=8),
    planning=PlanningConfig(backups_per_step=5, backups_per_training=5),
    exploration=ExplorationConfig(20, 1.0, 0.1, 40),
    encode_batch=7,
)
"""so few bits, and such large steps of learning, that states change all the time"""


def tiny_agent(config: VaSTConfig = TINY, seed: int = 0) -> VaST:
    return VaST(Spaces((SIZE, SIZE, 1), np.dtype(np.uint8), 4), config=config, seed=seed)


def with_training(config: VaSTConfig = TINY, **changes: Any) -> VaSTConfig:
    return replace(config, training=replace(config.training, **changes))


def with_extensions(config: VaSTConfig = TINY, **changes: Any) -> VaSTConfig:
    return replace(config, extensions=replace(config.extensions, **changes))


def training_steps(agent: VaST) -> int:
    assert isinstance(agent.encoder, Tabulator)
    return agent.encoder.steps


class Wanderer:
    """Steps an agent through the grid as an actor would."""

    def __init__(self, agent: VaST, seed: int = 0) -> None:
        self.agent = agent
        self.sign = 1.0
        """of all rewards, which are never negative before"""
        self._rng = np.random.default_rng(seed)
        self._at = np.zeros(2, int)

    def step(self, *, end: str = "", train: bool = True) -> int:
        """Take a step; `end` may be "terminal" or "truncated"; return the action."""
        if not self.agent.replay.in_episode:
            self._at = self._rng.integers(SIZE, size=2)
            self.agent.begin(picture(*self._at))
        action = self.agent.decide()
        self._at = np.clip(self._at + MOVES[action], 0, SIZE - 1)
        reward = self.sign * float(self._at.sum()) / 4
        self.agent.observe(
            action, reward, picture(*self._at), end == "terminal", end == "truncated"
        )
        if train:
            self.train()
        return action

    def train(self) -> None:
        while self.agent.train():
            pass

    def live(self, steps: int) -> None:
        """Take steps, of which some end an episode."""
        for _ in range(steps):
            end = ("terminal", "truncated", *[""] * 14)[self._rng.integers(16)]
            self.step(end=end)


def assigned(agent: VaST, numbers: range | None = None) -> list[Step]:
    """Return the transitions that follow from the states of the frames stored, one by one.

    Those that were forgotten are left out.
    """
    state = agent.replay.state_dict(frames=False)
    oldest, end = agent.replay.oldest, agent.replay.end
    steps = []
    for number in numbers or range(oldest, end):
        i = number - oldest
        fate = state["fate"][i]
        counted = state["encoded"][i] and not state["forgotten"][i]
        if not counted or fate not in (Fate.CONTINUED, Fate.TERMINAL):
            continue
        terminal = fate == Fate.TERMINAL
        if not terminal and not state["encoded"][i + 1]:
            continue
        after = None if terminal else int(state["state"][i + 1])
        a, r = int(state["action"][i]), float(state["reward"][i])
        steps.append(Step(int(state["state"][i]), a, r, after))
    return steps
