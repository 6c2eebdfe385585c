"""The Prioritized Double DQN agent."""

import copy
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import DTypeLike, NDArray
from torch import Tensor
from torch.nn import functional as F

from vast.agents.ddqn.config import PrioritizedDDQNConfig
from vast.agents.ddqn.ranks import Ranks
from vast.agents.learner import LearningMind
from vast.agents.mind import Values
from vast.model import saved
from vast.replay import Steps
from vast.training.protocol import State


class PrioritizedDDQNMind(LearningMind):
    """Double DQN (van Hasselt et al. 2016) with rank-based priorities (Schaul et al. 2016).

    The network chooses the best next action, the target network tells its value. Steps with large
    errors are replayed more often, and the bias of that is weighted away.
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        dtype: DTypeLike,
        n_actions: int,
        config: PrioritizedDDQNConfig,
        seed: np.random.SeedSequence,
    ) -> None:
        super().__init__(shape, dtype, n_actions, config, n_actions, seed)
        self.config = config
        self.target = copy.deepcopy(self.network).requires_grad_(False)
        self.ranks = Ranks(config.replay, config.alpha)

    def values(self, seen: NDArray[Any]) -> Values:
        """Return the network's Q-values."""
        q: Values = self.network.outputs(seen[None])[0].astype(np.float64)
        return q

    # --- living -----------------------------------------------------------------------------------

    def _begun(self) -> None:
        self.replay.begin(self._seen.frames[-1])

    def _stepped(self, action: int, reward: float) -> None:
        number = self.replay.append(action, reward, self._seen.frames[-1])
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
        loss = (torch.from_numpy(drawn.weights).to(losses) * losses).mean()
        self._adam.descend(loss)
        sizes = saved.array(errors.abs())
        self.ranks.set_priorities(drawn.numbers, sizes)
        self._tally.add("train/loss", loss.item())
        self._tally.add("train/td_error", float(sizes.mean()))
        return True

    def td_errors(self, steps: Steps) -> Tensor:
        """Return r + gamma Q'(o', argmax_a Q(o', a)) - Q(o, a), with Q' of the target network."""
        before, after = steps.frames[:, :-1], steps.frames[:, 1:]
        with torch.no_grad():
            best = self.network(after).argmax(1, keepdim=True)
            following = self.target(after).gather(1, best)[:, 0]
            following[torch.from_numpy(steps.terminals)] = 0.0
            targets = torch.from_numpy(steps.rewards).to(following)
            targets += self.config.discount * following
        actions = torch.from_numpy(steps.actions)[:, None]
        q: Tensor = self.network(before).gather(1, actions)[:, 0]
        return targets - q

    def _copy_to_target(self) -> None:
        self.target.load_state_dict(self.network.state_dict())

    # --- saving -----------------------------------------------------------------------------------

    def _own_state(self) -> State:
        target = saved.tensors_of(self.target)
        return {
            **super()._own_state(),
            "target": {name: saved.array(tensor) for name, tensor in target.items()},
            "ranks": self.ranks.state_dict(),
        }

    def _load_own_state(
        self, state: Mapping[str, Any], frames: Iterable[Mapping[str, Any]]
    ) -> None:
        super()._load_own_state(state, frames)
        target = saved.tensors_of(self.target)
        saved.check(state["target"], target)
        saved.copy_into(target, state["target"])
        self.ranks.load_state_dict(state["ranks"])
