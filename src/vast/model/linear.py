"""Linear layers and perceptrons whose matrix products are done by oneDNN where PyTorch has it.

In single precision PyTorch leaves matrix products on the processor to MKL. On AMD's processors with
AVX-512 oneDNN, which PyTorch ships for its convolutions, is twice as fast. PyTorch offers its
product as an operator without a gradient; here is one, of a whole perceptron at once: in small
networks the bookkeeping of each layer and activation function would cost as much as they do.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import FunctionCtx, once_differentiable


def _product_of_onednn() -> Any:
    """Return f(x W' + b) by oneDNN, or None if this PyTorch does not have it."""
    operator = getattr(torch.ops.mkldnn, "_linear_pointwise", None)
    return None if operator is None else operator.default


ONEDNN = _product_of_onednn()
SMALL = 2**19
"""multiplications, below which calling oneDNN takes longer than the product by MKL"""


def _product(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, *, relu: bool = False
) -> Tensor:
    """Return x W' + b, or what a ReLU makes of it."""
    if x.shape[0] * weight.numel() >= SMALL:
        large: Tensor = ONEDNN(x, weight, bias, "relu" if relu else "none", [], "")
        return large
    small = x @ weight.t() if bias is None else torch.addmm(bias, x, weight.t())
    return small.relu_() if relu else small


def _layers_of(x: Tensor, parameters: tuple[Tensor, ...]) -> list[Tensor]:
    """Return the outputs of all layers, given W, b, W, b ...; ReLU between them."""
    weights, biases = parameters[::2], parameters[1::2]
    outputs: list[Tensor] = []
    for i, (weight, bias) in enumerate(zip(weights, biases, strict=True), start=1):
        x = _product(x, weight, bias, relu=i < len(weights))
        outputs.append(x)
    return outputs


class _PerceptronFunction(torch.autograd.Function):
    """y = W2 max(0, W1 x + b1) + b2, of any number of layers, and its gradients."""

    @staticmethod
    def forward(ctx: FunctionCtx, x: Tensor, *parameters: Tensor) -> Tensor:
        *hidden, y = _layers_of(x, parameters)
        ctx.save_for_backward(x, *hidden, *parameters[::2])
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (g,) = gradients
        n = len(ctx.saved_tensors) // 2
        inputs, weights = ctx.saved_tensors[:n], ctx.saved_tensors[n:]
        found: list[Tensor] = []
        for i in reversed(range(n)):
            found += [g.sum(0), _product(g.t(), inputs[i].t())]
            if i:  # a ReLU lets the gradient of what was positive pass
                g = torch.ops.aten.threshold_backward(_product(g, weights[i].t()), inputs[i], 0)
        of_x = _product(g, weights[0].t()) if ctx.needs_input_grad[0] else None
        return of_x, *reversed(found)


class Perceptron(nn.Sequential):
    """Linear layers with ReLU between them, for rows of inputs; equal to them up to rounding."""

    def forward(self, x: Tensor) -> Tensor:
        """Return the output of the last layer."""
        if ONEDNN is None or x.dtype != torch.float32 or x.device.type != "cpu" or not len(x):
            plain: Tensor = super().forward(x)  # type: ignore[no-untyped-call]
            return plain
        assert x.ndim == 2, x.shape
        layers = (layer for layer in self if isinstance(layer, nn.Linear))
        parameters = tuple(each for layer in layers for each in (layer.weight, layer.bias))
        if not torch.is_grad_enabled():
            return _layers_of(x, parameters)[-1]
        y: Tensor = _PerceptronFunction.apply(x, *parameters)  # type: ignore[no-untyped-call]
        return y
