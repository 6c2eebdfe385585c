"""The variational free energy F = R + T - H of a minibatch (paper, section 2.1, Eq. 4 to 7)."""

import math
from typing import Generic, NamedTuple, TypeVar

import torch
from torch import Tensor
from torch.nn import functional as F

Number = TypeVar("Number", Tensor, float)


class Terms(NamedTuple, Generic[Number]):
    """Means over the minibatch, in nats: free_energy = reconstruction + transition - entropy."""

    free_energy: Number
    reconstruction: Number
    transition: Number
    entropy: Number


class StepCosts(NamedTuple):
    """What F is computed from, for each of N steps, with one sampled code s_t per frame."""

    reconstruction: Tensor
    """-log p(o_t | s_t), not weighted, [N]"""
    log_prior: Tensor
    """log p(s_t | a_t, s_{t-1}) of each bit, or log pi(s_0) for the first frame of an episode,
    [N, d]"""
    log_posterior: Tensor
    """log q(s_t | o_{t-k:t}) of each bit, [N, d]"""
    reconstruction_weight: float = 1.0
    """`ModelConfig.reconstruction_weight`"""


class LocalCosts(NamedTuple):
    """The part of a step's cost that depends on a given bit: all that the bit can be blamed for."""

    own: Tensor
    """of each bit of s_t: reconstruction of o_t, transition cost and entropy of this bit, [N, d]"""
    successor: Tensor
    """of every bit of s_{t-1}: transition cost of s_t, [N, 1]; does not apply to first frames"""


def bernoulli_cost(target: Tensor, logits: Tensor, weights: Tensor | None = None) -> Tensor:
    """Return -log p(o | s) of images in [0, 1], summed over pixels and channels: [N].

    `weights` [C, H, W], if given, are factors of each pixel's summand.
    """
    assert target.shape == logits.shape, (target.shape, logits.shape)
    losses = F.binary_cross_entropy_with_logits(logits, target, weights, reduction="none")
    return losses.sum(tuple(range(1, losses.ndim)))


def gaussian_cost(target: Tensor, mean: Tensor, log_scale: Tensor) -> Tensor:
    """Return -log p(o | s) of vectors, summed over entries: [N]."""
    assert target.shape == mean.shape, (target.shape, mean.shape)
    z = (target - mean) * (-log_scale).exp()
    return (z.square() / 2 + log_scale + math.log(2 * math.pi) / 2).sum(1)


def free_energy(costs: StepCosts) -> Terms[Tensor]:
    """Return F and its terms, means over the steps. The reconstruction term includes its weight."""
    _check(costs)
    r = costs.reconstruction_weight * costs.reconstruction.mean()
    t = -costs.log_prior.sum(1).mean()
    h = -costs.log_posterior.sum(1).mean()
    return Terms(r + t - h, r, t, h)


def local_costs(costs: StepCosts) -> LocalCosts:
    """Return the summands of F, before the mean over steps, by the bits they depend on.

    The bits of a code are independent under q and, given s_{t-1}, under p. Given s_{t-1}, bit i of
    s_t thus changes R_t, its own summand of T_t and of H_t, and all of T_{t+1}; nothing else in F.
    """
    _check(costs)
    with torch.no_grad():
        r = costs.reconstruction_weight * costs.reconstruction[:, None]
        return LocalCosts(
            r - costs.log_prior + costs.log_posterior, -costs.log_prior.sum(1, keepdim=True)
        )


def as_numbers(terms: Terms[Tensor]) -> Terms[float]:
    """Return the terms as Python floats; a GPU is synchronised only once."""
    f, r, t, h = torch.stack(tuple(terms)).tolist()
    return Terms(f, r, t, h)


def _check(costs: StepCosts) -> None:
    n, d = costs.log_prior.shape
    assert costs.log_posterior.shape == (n, d), (costs.log_posterior.shape, (n, d))
    assert costs.reconstruction.shape == (n,), (costs.reconstruction.shape, n)
