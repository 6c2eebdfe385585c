"""The Prioritized Double DQN agent."""

import copy
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import DTypeLike, NDArray
from torch import Tensor
from torch.nn import functional as F

from vast.agents import chance
from vast.agents.ddqn.config import PrioritizedDDQNConfig
from vast.agents.ddqn.ranks import Ranks
from vast.agents.mind import Mind, Values
from vast.agents.network import Learner, Network
from vast.model import saved
from vast.replay import Replay, Steps
from vast.training.protocol import State


class PrioritizedDDQN(Mind):
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
        super().__init__(shape, dtype, n_actions, config.history, config.exploration, seed)
        self.config = config
        self._network = Network(
            self.shape,
            config.history,
            n_actions,
            config.network,
            config.resize,
            chance.torch_generator(chance.child(seed, 1)),
        )
        self._target = copy.deepcopy(self._network).requires_grad_(False)
        self._learner = Learner(self._network, config.learning_rate, config.betas, config.epsilon)
        self.replay = Replay(
            config.replay,
            self.shape,
            n_actions,
            dtype=dtype,
            history=config.history,
            compressed=config.compressed,
        )
        self.ranks = Ranks(config.replay, config.alpha)

    @property
    def frame_store(self) -> Replay:
        """Where its frames are."""
        return self.replay

    def values(self, seen: NDArray[Any]) -> Values:
        """Return the network's Q-values."""
        q: Values = self._network.outputs(seen[None])[0].astype(np.float64)
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

    def _learn(self) -> None:
        if self.steps == self.config.standardise_after:
            numbers = np.arange(self.replay.oldest, self.replay.end)
            self._network.standardise(self.replay.frames(numbers))
            self._copy_to_target()
        if self._due(self.config.train_interval):
            self._train()
        if self._due(self.config.target_interval):
            self._copy_to_target()

    def _train(self) -> None:
        """Do one step of gradient descent on a minibatch's weighted errors."""
        config = self.config
        self.ranks.revise(self.replay.encodable_from)
        if not len(self.ranks):
            return
        drawn = self.ranks.draw(self._rng, config.batch, config.beta_at(self.steps))
        errors = self.td_errors(self.replay.steps(drawn.numbers))
        losses = F.huber_loss(
            errors, torch.zeros_like(errors), reduction="none", delta=config.max_error
        )
        loss = (torch.from_numpy(drawn.weights).to(losses) * losses).mean()
        self._learner.descend(loss)
        sizes = saved.array(errors.abs())
        self.ranks.set_priorities(drawn.numbers, sizes)
        self._means.note("train/loss", loss.item())
        self._means.note("train/td_error", sizes.sum(), len(sizes))

    def td_errors(self, steps: Steps) -> Tensor:
        """Return r + gamma Q'(o', argmax_a Q(o', a)) - Q(o, a), with Q' of the target network."""
        before, after = steps.frames[:, :-1], steps.frames[:, 1:]
        with torch.no_grad():
            best = self._network(after).argmax(1, keepdim=True)
            following = self._target(after).gather(1, best)[:, 0]
            following[torch.from_numpy(steps.terminals)] = 0.0
            targets = torch.from_numpy(steps.rewards).to(following)
            targets += self.config.discount * following
        actions = torch.from_numpy(steps.actions)[:, None]
        q: Tensor = self._network(before).gather(1, actions)[:, 0]
        return targets - q

    def _copy_to_target(self) -> None:
        self._target.load_state_dict(self._network.state_dict())

    # --- saving -----------------------------------------------------------------------------------

    def _own_state(self) -> State:
        target = saved.tensors_of(self._target)
        return {
            "network": self._learner.state_dict(),
            "target": {name: saved.array(tensor) for name, tensor in target.items()},
            "replay": self.replay.state_dict(frames=False),
            "ranks": self.ranks.state_dict(),
        }

    def _load_own_state(
        self, state: Mapping[str, Any], frames: Iterable[Mapping[str, Any]]
    ) -> None:
        self.replay.load_state_dict(state["replay"], frames)
        self._learner.load_state_dict(state["network"])
        target = saved.tensors_of(self._target)
        saved.check(state["target"], target)
        saved.copy_into(target, state["target"])
        self.ranks.load_state_dict(state["ranks"])
