"""The transition model p(s' | a, s): one multilayer perceptron (MLP) for each action."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from vast.model.networks import mlp


class Steps(NamedTuple):
    """The steps of segments that are trained on, sorted by action, first frames last.

    The free energy is a mean over steps, so the original order need not be restored. Actions are
    sorted on the CPU, where they come from: no GPU is waited for.
    """

    segment: Tensor
    """the segment of each step, [N]"""
    position: Tensor
    """the position of its predecessor within the segment, [N]"""
    counts: list[int]
    """how many steps took action 0, action 1 ..., and last, how many lead to first frames"""


def steps_by_action(actions: Tensor, first: Tensor, trained: Tensor, n_actions: int) -> Steps:
    """Return the steps of segments: `actions`, `first` and `trained` are [B, L]."""
    segment, position = trained.nonzero(as_tuple=True)
    group = actions.masked_fill(first, n_actions)[trained]
    order = group.argsort(stable=True)
    counts = group.bincount(minlength=n_actions + 1).tolist()
    return Steps(segment[order], position[order], counts)


class TransitionNetworks(nn.Module):
    """One MLP per action (paper, section 2.1), evaluated only for the rows that took it."""

    def __init__(self, d: int, n_actions: int, hidden: tuple[int, ...]) -> None:
        super().__init__()
        self.d = d
        self.networks = nn.ModuleList(mlp((d, *hidden, d)) for _ in range(n_actions))

    def forward(self, code: Tensor, counts: Sequence[int]) -> list[Tensor]:
        """Return the logits of the next code, one tensor for each action that was taken.

        `code` [N, d] holds `counts[0]` rows that took action 0, then those that took action 1 ...
        """
        assert code.shape == (sum(counts), self.d), code.shape
        groups = zip(self.networks, torch.split(code, list(counts)), strict=True)
        return [network(rows) for network, rows in groups if len(rows)]
