"""The binary Concrete distribution, on its pre-sigmoid (logistic) variable.

A Concrete sample is sigmoid(y) with y = (a + L) / t: a location a, the logit of the Bernoulli
variable that is relaxed; a temperature t; logistic noise L (paper, Eq. 8; Maddison et al. 2017).
Densities are those of y, not of sigmoid(y), which rounds to 0 or 1 where its density has poles.
The change of variables adds the same to the log densities of posterior and prior, so their
difference stays the same.
"""

import math

import torch
from torch import Tensor
from torch.nn.functional import softplus


def logistic_noise(like: Tensor, generator: torch.Generator) -> Tensor:
    """Return L, one independent draw for each entry of `like`."""
    u = torch.rand(like.shape, generator=generator, dtype=like.dtype, device=generator.device)
    # u is 0 once in 2**24 draws in single precision: without eps, training on batches of 128
    # samples of 32 bits would meet an infinite L within a few thousand steps.
    return torch.logit(u.to(like.device), eps=torch.finfo(u.dtype).eps / 2)


def sample(location: Tensor, temperature: float, generator: torch.Generator) -> Tensor:
    """Return y, one draw per location; gradients flow through it to the locations."""
    return (location + logistic_noise(location, generator)) / temperature


def log_density(y: Tensor, location: Tensor, temperature: float) -> Tensor:
    """Return log p(y) for each dimension."""
    x = location - temperature * y
    return math.log(temperature) + x - 2 * softplus(x)
