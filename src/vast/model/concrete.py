"""The binary Concrete distribution, on its pre-sigmoid (logistic) variable.

A Concrete sample is sigmoid(y) with y = (a + L) / t: a location a, the logit of the Bernoulli
variable that is relaxed; a temperature t; logistic noise L (paper, Eq. 8; Maddison et al. 2017).
Densities are those of y, not of sigmoid(y), which rounds to 0 or 1 where its density has its poles.
The change of variables costs both posterior and prior the same, so that their difference stays.
"""

import math

import torch
from torch import Tensor
from torch.nn.functional import softplus


def sample(location: Tensor, temperature: float, generator: torch.Generator) -> Tensor:
    """Return y, one draw per location, through which gradients flow back to the locations."""
    u = torch.rand(
        location.shape, generator=generator, dtype=location.dtype, device=location.device
    )
    # u can be 0, once in 2**24 draws of single precision: without eps a batch of 128 samples of
    # 32 bits would meet an infinite L within some thousand training steps.
    noise = torch.logit(u, eps=torch.finfo(u.dtype).eps / 2)
    return (location + noise) / temperature


def log_density(y: Tensor, location: Tensor, temperature: float) -> Tensor:
    """Return log p(y) for each dimension."""
    x = location - temperature * y
    return math.log(temperature) + x - 2 * softplus(x)


def mode(location: Tensor) -> Tensor:
    """Return the Bernoulli mode H(a), the discrete code that is tabulated (paper, section 2.3)."""
    return location > 0
