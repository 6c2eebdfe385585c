"""Binary codes: d independent Bernoulli bits, given by their logits (paper, section 2.1)."""

import torch
from torch import Tensor
from torch.nn.functional import softplus

from vast.model.concrete import logistic_noise


def sample(logits: Tensor, generator: torch.Generator) -> Tensor:
    """Return H(x + L), a 0 or 1 for each logit x, with logistic noise L (paper, section 2.2).

    The same noise gives the same bits as a Concrete sample that is rounded. No gradient passes.
    """
    with torch.no_grad():
        return (logits + logistic_noise(logits, generator) > 0).to(logits.dtype)


def log_probability(bits: Tensor, logits: Tensor) -> Tensor:
    """Return log p(bit) for each bit. It is linear in the bits."""
    return bits * logits - softplus(logits)


def mode(logits: Tensor) -> Tensor:
    """Return H(x), the most probable code, which the table stores (paper, section 2.3)."""
    return logits > 0
