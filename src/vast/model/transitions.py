"""The transition model p(s' | a, s): a perceptron for each action."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from vast.model.networks import perceptron


class Steps(NamedTuple):
    """The steps of segments that are trained on, sorted by what their priors come from.

    The free energy is a mean over steps, so that nothing need be put back in order. Actions are
    sorted where they are, in the main memory: no GPU is waited for.
    """

    segment: Tensor
    """the segment of each step"""
    at: Tensor
    """its number within the segment, which is also where its first frame stands"""
    counts: list[int]
    """how many took action 0, action 1 ..., and last, how many frames begin an episode"""


def sorted_steps(actions: Tensor, first: Tensor, trained: Tensor, n_actions: int) -> Steps:
    """Return the steps of segments: `actions`, `first` and `trained` are [B, L]."""
    segment, at = trained.nonzero(as_tuple=True)
    kind = actions.masked_fill(first, n_actions)[trained]
    order = kind.argsort(stable=True)
    return Steps(segment[order], at[order], kind.bincount(minlength=n_actions + 1).tolist())


class TransitionNetworks(nn.Module):
    """One perceptron per action (paper, section 2.1), evaluated only for rows that took it."""

    def __init__(self, d: int, n_actions: int, hidden: tuple[int, ...]) -> None:
        super().__init__()
        self.d = d
        self.networks = nn.ModuleList(perceptron((d, *hidden, d)) for _ in range(n_actions))

    def forward(self, code: Tensor, counts: Sequence[int]) -> list[Tensor]:
        """Return the logits of the next code, of each action that was taken.

        `code` [B, d] holds `counts[0]` rows that took action 0, then those that took action 1 ...
        """
        assert code.shape == (sum(counts), self.d), code.shape
        groups = zip(self.networks, torch.split(code, list(counts)), strict=True)
        return [network(rows) for network, rows in groups if len(rows)]
