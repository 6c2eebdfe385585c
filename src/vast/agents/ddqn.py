"""Prioritized Double DQN: rank-based prioritized replay, and a target network."""

import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from vast.agents.base import ReplayAgent, Values
from vast.agents.config import ReplayAgentConfig
from vast.agents.core import SeedPair
from vast.agents.presets import shared_with_network
from vast.agents.rank_sampling import RankSampler
from vast.checks import at_least, fraction, positive
from vast.model import network_state
from vast.replay import Steps
from vast.training.protocol import Pose, StateDict


@dataclass(frozen=True)
class PrioritizedDDQNConfig(ReplayAgentConfig):
    """The hyperparameters of Prioritized Double DQN; the defaults are the paper's."""

    alpha: float = 0.7
    """exponent of 1 / rank in the probability of a sample; 0: uniform; supplement"""
    first_beta: float = 0.5
    """exponent of the importance weights at first; supplement"""
    final_beta: float = 1.0
    """exponent of the importance weights in the end; supplement"""
    beta_steps: int = 1_000_000
    """steps after the burn-in over which beta goes linearly from the first to the final value;
    supplement: "over the course of training", which is the length of the task in its presets"""
    target_interval: int = 2000
    """environment steps between two copies of the network to the target network; supplement"""
    max_error: float = 1.0
    """temporal-difference errors beyond this count linearly, not as squares; Mnih et al. 2015"""

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(1, target_interval=self.target_interval, beta_steps=self.beta_steps)
        positive(max_error=self.max_error)
        fraction(first_beta=self.first_beta, final_beta=self.final_beta, alpha=self.alpha)

    def beta_at(self, step: int) -> float:
        """Return beta after this many environment steps."""
        done = min(max(step - self.exploration.burn_in, 0) / self.beta_steps, 1.0)
        return self.first_beta + done * (self.final_beta - self.first_beta)


PRESETS: dict[str, dict[str, Any]] = {
    "paper": {},
    # A target network that is copied often lets values travel from the goal in a short run.
    "cpu": {
        "beta_steps": 100_000,
        "target_interval": 100,
        "batch": 64,
        "train_interval": 2,
        "learning_rate": 3e-4,
    },
    "debug": {"beta_steps": 200, "target_interval": 60, "batch": 8},
}
"""what each preset sets beside what all agents share"""

LENGTHS: dict[str, dict[str, int]] = {
    "paper": {
        "t-maze": 50_000,
        "t-maze-2d": 300_000,
        "large-maze": 2_000_000,
        "large-maze-hazards": 2_000_000,
        "h-maze": 1_000_000,
        "plus-maze": 500_000,
        "pong": 5_000_000,
    },
    "cpu": {
        "t-maze": 10_000,
        "t-maze-2d": 10_000,
        "large-maze": 600_000,
        "large-maze-hazards": 600_000,
        "h-maze": 150_000,
        "plus-maze": 30_000,
        "pong": 2_000_000,
    },
}
"""environment steps of each task, at whose end beta is `final_beta`. A schedule must not depend on
how long a run turns out to be; agents do not know the records of tasks, but a test compares them"""


def preset(name: str, task: str | None, shape: tuple[int, ...]) -> PrioritizedDDQNConfig:
    """Return the config of a preset."""
    both = {**shared_with_network(name, task, shape), **PRESETS[name]}
    if task in LENGTHS.get(name, {}):
        both["beta_steps"] = LENGTHS[name][task] - both["exploration"].burn_in
    return PrioritizedDDQNConfig(**both)


class PrioritizedDDQN(ReplayAgent):
    """Double DQN (van Hasselt et al. 2016) with rank-based priorities (Schaul et al. 2016).

    The network chooses the best next action, the target network gives its value. Steps with large
    errors are replayed more often; importance weights correct the bias.
    """

    name = "ddqn"
    config_class = PrioritizedDDQNConfig
    config: PrioritizedDDQNConfig

    def _build(self, seeds: SeedPair) -> None:
        super()._build(seeds)
        self.target = copy.deepcopy(self.network).requires_grad_(False)
        self.ranks = RankSampler(self.config.replay, self.config.alpha)

    @property
    def _n_outputs(self) -> int:
        return self.n_actions

    def values(self, history: NDArray[Any]) -> Values:
        """Return the network's Q-values."""
        q: Values = self.network.outputs(history[None])[0].astype(np.float64)
        return q

    # --- experience -------------------------------------------------------------------------------

    def _begun(self, pose: Pose | None) -> None:
        self.replay.begin(self._frames.newest, pose)

    def _stepped(self, action: int, reward: float, pose: Pose | None) -> None:
        number = self.replay.append(action, reward, self._frames.newest, pose)
        self.ranks.add(number - 1)

    def _terminated(self, action: int, reward: float) -> None:
        self.replay.end_terminal(action, reward)
        self.ranks.add(self.replay.end - 1)

    def _cut_off(self) -> None:
        self.replay.end_truncated()

    # --- learning ---------------------------------------------------------------------------------

    def _train_if_due(self) -> None:
        super()._train_if_due()
        if self._due(self.config.target_interval):
            self._copy_to_target()

    def _standardise(self) -> None:
        super()._standardise()
        self._copy_to_target()

    def _learn(self) -> bool:
        """Do one step of gradient descent on a minibatch's weighted errors."""
        config = self.config
        self.ranks.revise(self.replay.encodable_from)
        if not len(self.ranks):
            return False
        drawn = self.ranks.draw(self._rng, config.batch, config.beta_at(self.steps))
        errors = self.td_errors(self.replay.steps(drawn.numbers))
        losses = F.huber_loss(
            errors, torch.zeros_like(errors), reduction="none", delta=config.max_error
        )
        loss = (network_state.tensor_like(drawn.weights, losses) * losses).mean()
        self._optimiser.descend(loss)
        sizes = network_state.array(errors.abs())
        self.ranks.set_priorities(drawn.numbers, sizes)
        self._means.add("train/loss", loss.item())
        self._means.add("train/td_error", float(sizes.mean()))
        return True

    def td_errors(self, steps: Steps) -> Tensor:
        """Return r + gamma Q'(o', argmax_a Q(o', a)) - Q(o, a), with Q' of the target network."""
        before, after = steps.frames[:, :-1], steps.frames[:, 1:]
        with torch.no_grad():
            best = self.network(after).argmax(1, keepdim=True)
            following = self.target(after).gather(1, best)[:, 0]
            ended = torch.from_numpy(steps.terminals).to(following.device)
            following = following.masked_fill(ended, 0.0)
            targets = network_state.tensor_like(steps.rewards, following)
            targets += self.config.discount * following
        actions = torch.from_numpy(steps.actions).to(targets.device)[:, None]
        q: Tensor = self.network(before).gather(1, actions)[:, 0]
        return targets - q

    def _copy_to_target(self) -> None:
        self.target.load_state_dict(self.network.state_dict())

    # --- saving -----------------------------------------------------------------------------------

    def _own_state(self) -> StateDict:
        target = network_state.tensors_of(self.target)
        return {
            **super()._own_state(),
            "target": {name: network_state.array(tensor) for name, tensor in target.items()},
            "ranks": self.ranks.state_dict(),
        }

    def _load_own_state(
        self, state: Mapping[str, Any], frames: Iterable[Mapping[str, Any]]
    ) -> None:
        super()._load_own_state(state, frames)
        target = network_state.tensors_of(self.target)
        network_state.check(state["target"], target)
        network_state.copy_into(target, state["target"])
        self.ranks.load_state_dict(state["ranks"])
