"""What the minds with a network and a replay have in common: when they train, and on what."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import DTypeLike

from vast.agents.config import LearnerConfig
from vast.agents.mind import Mind
from vast.agents.network import Adam, Network
from vast.replay import Replay
from vast.training.protocol import State


class LearningMind(Mind):
    """Keeps what it saw in a replay, and trains its network on minibatches drawn from there."""

    def __init__(
        self,
        shape: tuple[int, ...],
        dtype: DTypeLike,
        n_actions: int,
        config: LearnerConfig,
        outputs: int,
        seed: np.random.SeedSequence,
    ) -> None:
        acting, drawing = seed.spawn(2)
        super().__init__(shape, dtype, n_actions, config, acting)
        generator = torch.Generator().manual_seed(int(drawing.generate_state(1)[0]))
        self.network = Network(self.shape, config.history, outputs, config.network, generator)
        self._adam = Adam(self.network, config.learning_rate, config.betas, config.epsilon)
        self.replay = Replay(
            config.replay,
            self.shape,
            n_actions,
            dtype=dtype,
            history=config.history,
            compressed=config.compressed,
        )
        self._learning = config
        self._looked_at = 0  # the last step after which it was seen to what was due
        self._trainings = 0

    @property
    def frame_store(self) -> Replay:
        """Where its frames are."""
        return self.replay

    # --- training ---------------------------------------------------------------------------------

    def train(self) -> bool:
        """Do what is due after this step, unless it was done; there is never more."""
        if self.steps != self._looked_at:
            self._looked_at = self.steps
            self._train_if_due()
        return False

    def _train_if_due(self) -> None:
        if self.steps == self._learning.standardise_after:
            self._standardise()
        if self._due(self._learning.train_interval) and self._learn():
            self._trainings += 1

    def _due(self, interval: int) -> bool:
        """Tell whether it is time for what is done every `interval` steps after the burn-in."""
        return self.steps >= self._learning.exploration.burn_in and self.steps % interval == 0

    def _standardise(self) -> None:
        """Show the network what it sees in units of what was seen so far."""
        numbers = np.arange(self.replay.oldest, self.replay.end)
        self.network.standardise(self.replay.frames(numbers))

    @abstractmethod
    def _learn(self) -> bool:
        """Do one step of gradient descent; return False if there is nothing to learn from yet."""

    # --- looking ----------------------------------------------------------------------------------

    def _sizes(self) -> dict[str, float]:
        return {"train/steps": self._trainings}

    def facts(self) -> dict[str, float]:
        """Return a few numbers to show while it learns, in words for people."""
        return {**super().facts(), "trainings": self._trainings}

    # --- saving -----------------------------------------------------------------------------------

    def _own_state(self) -> State:
        return {
            "network": self._adam.state_dict(),
            "replay": self.replay.state_dict(frames=False),
            "looked_at": self._looked_at,
            "trainings": self._trainings,
        }

    def _load_own_state(
        self, state: Mapping[str, Any], frames: Iterable[Mapping[str, Any]]
    ) -> None:
        self.replay.load_state_dict(state["replay"], frames)
        self._adam.load_state_dict(state["network"])
        self._looked_at, self._trainings = int(state["looked_at"]), int(state["trainings"])
