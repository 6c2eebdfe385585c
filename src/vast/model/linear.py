"""A linear layer whose matrix products are done by oneDNN where PyTorch has it.

In single precision PyTorch leaves matrix products on the processor to MKL. On AMD's processors with
AVX-512 oneDNN, which PyTorch ships for its convolutions, is twice as fast. PyTorch offers its
product as an operator without a gradient; here is one.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import FunctionCtx, once_differentiable


def _product_of_onednn() -> Any:
    """Return x @ w.T + b by oneDNN, or None if this PyTorch does not have it."""
    operator = getattr(torch.ops.mkldnn, "_linear_pointwise", None)
    return None if operator is None else operator.default


ONEDNN = _product_of_onednn()
NOTHING_AFTERWARDS: tuple[str, list[Any], str] = ("none", [], "")
"""the operator could apply an activation function"""


def _product(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return x @ weight.T + bias."""
    product: Tensor = ONEDNN(x, weight, bias, *NOTHING_AFTERWARDS)
    return product


class _LinearFunction(torch.autograd.Function):
    """y = x W' + b and its gradients: three matrix products."""

    @staticmethod
    def forward(ctx: FunctionCtx, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        return _product(x, weight, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor, Tensor]:
        (gradient,) = gradients
        x, weight = ctx.saved_tensors
        of_x = _product(gradient, weight.t()) if ctx.needs_input_grad[0] else None
        return of_x, _product(gradient.t(), x.t()), gradient.sum(0)


class Linear(nn.Linear):
    """`nn.Linear` for rows of inputs, faster on some processors; equal up to rounding."""

    def forward(self, x: Tensor) -> Tensor:
        """Return x W' + b."""
        if ONEDNN is None or x.dtype != torch.float32 or x.device.type != "cpu" or not len(x):
            return super().forward(x)
        assert x.ndim == 2, x.shape
        if not torch.is_grad_enabled():
            return _product(x, self.weight, self.bias)
        product: Tensor = _LinearFunction.apply(x, self.weight, self.bias)  # type: ignore[no-untyped-call]
        return product
