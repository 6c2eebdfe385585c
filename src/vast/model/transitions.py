"""The transition model p(s' | a, s): a perceptron for each action, and the initial distribution."""

import torch
from torch import Tensor, nn

from vast.model.networks import perceptron


class TransitionNetworks(nn.Module):
    """One perceptron per action (paper, section 2.1), evaluated only for rows that took it.

    Evaluating every action for every row and choosing afterwards would cost as many times more as
    there are actions.
    """

    def __init__(self, d: int, n_actions: int, hidden: tuple[int, ...]) -> None:
        super().__init__()
        self.d = d
        self.networks = nn.ModuleList(perceptron((d, *hidden, d)) for _ in range(n_actions))

    def forward(self, code: Tensor, actions: Tensor) -> Tensor:
        """Return the logits of the next code: [B, d] codes and [B] actions to [B, d]."""
        assert code.shape == (len(actions), self.d), code.shape
        order = actions.argsort(stable=True)
        counts = actions.bincount(minlength=len(self.networks)).tolist()
        groups = [
            network(rows)
            for network, rows in zip(self.networks, torch.split(code[order], counts), strict=True)
            if len(rows)
        ]
        return torch.cat(groups)[order.argsort()] if groups else code
