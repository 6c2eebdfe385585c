"""The variational free energy F = R + T - H of a minibatch (paper, section 2.1, Eq. 4 to 7)."""

import math
from typing import Generic, NamedTuple, TypeVar

import torch
from torch import Tensor
from torch.nn import functional as F

from vast.model import concrete

Number = TypeVar("Number", Tensor, float)


class Terms(NamedTuple, Generic[Number]):
    """Means over the minibatch, in nats: free_energy = reconstruction + transition - entropy."""

    free_energy: Number
    reconstruction: Number
    transition: Number
    entropy: Number


def bernoulli_cost(target: Tensor, logits: Tensor) -> Tensor:
    """Return -log p(o | s) of images in [0, 1], summed over pixels and channels: [B]."""
    assert target.shape == logits.shape, (target.shape, logits.shape)
    losses = F.binary_cross_entropy_with_logits(logits, target, reduction="none")
    return losses.sum(tuple(range(1, losses.ndim)))


def gaussian_cost(target: Tensor, mean: Tensor, log_scale: Tensor) -> Tensor:
    """Return -log p(o | s) of vectors, summed over entries: [B]."""
    assert target.shape == mean.shape, (target.shape, mean.shape)
    z = (target - mean) * (-log_scale).exp()
    return (z.square() / 2 + log_scale + math.log(2 * math.pi) / 2).sum(1)


def free_energy(
    reconstruction: Tensor,
    y: Tensor,
    posterior: Tensor,
    prior: Tensor,
    posterior_temperature: float,
    prior_temperature: float,
    reconstruction_weight: float = 1.0,
) -> Terms[Tensor]:
    """Return F and its terms, each an estimate from one Concrete sample y per row.

    `reconstruction` [B] is -log p(o_t | s_t); `y` [B, d] is sampled at the encoder's logits
    `posterior` [B, d]; `prior` [B, d] are the logits of p(s_t | a_t, s_{t-1}), or for the first
    frame of an episode those of pi(s_0). The reconstruction term holds its weight already. The
    entropy has no gradient: its density is that of y's noise, wherever the posterior moves y.
    """
    assert y.shape == posterior.shape == prior.shape == (len(reconstruction), y.shape[1])
    r = reconstruction_weight * reconstruction.mean()
    t = -concrete.log_density(y, prior, prior_temperature).sum(1).mean()
    with torch.no_grad():
        h = -concrete.log_density(y, posterior, posterior_temperature).sum(1).mean()
    return Terms(r + t - h, r, t, h)


def as_numbers(terms: Terms[Tensor]) -> Terms[float]:
    """Return the terms as Python numbers, with a single wait for the device."""
    f, r, t, h = torch.stack(tuple(terms)).tolist()
    return Terms(f, r, t, h)
