"""Encoder and decoder: convolutional as in the paper, or multilayer perceptrons (MLP).

Frames are [C, H, W] images or [n] vectors. An encoder takes [B, k + 1, *frame], oldest first; a
decoder takes codes [B, d] and returns [B, *frame]: Bernoulli logits of an image, or the means of a
vector. Weights are drawn from a given generator, never from the global one.
"""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from vast.errors import UserError
from vast.model.config import Initialisation, NetworkConfig
from vast.model.linear import Perceptron

M = TypeVar("M", bound=nn.Module)

FrameShape = tuple[int, ...]
"""(channels, rows, columns) of an image or (entries,) of a vector"""


def set_memory_format(module: nn.Module, memory_format: torch.memory_format) -> None:
    """Store the filters of a module's convolutions in the memory format of their images."""
    for parameter in module.parameters():
        if parameter.ndim == 4:
            parameter.data = parameter.data.contiguous(memory_format=memory_format)


def mlp(sizes: Sequence[int]) -> Perceptron:
    """Return linear layers of these sizes with ReLU between them."""
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(sizes):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    return Perceptron(*layers[:-1])


class Conv2dSame(nn.Conv2d):
    """A convolution with SAME padding: its output has ceil(n / stride) rows and columns.

    The authors' code pads like this. PyTorch has no SAME padding for strided convolutions. Where
    the padding is odd, the larger half goes below and to the right, as in TensorFlow.
    """

    def forward(self, x: Tensor) -> Tensor:
        """Pad, then convolve."""
        sizes = zip(x.shape[2:], self.kernel_size, self.stride, strict=True)
        rows, columns = (
            max((-(-n // stride) - 1) * stride + side - n, 0) for n, side, stride in sizes
        )
        # Padding that both sides share is left to the convolution, which needs no copy for it.
        if rows % 2 or columns % 2:
            x = F.pad(x, (0, columns % 2, 0, rows % 2))
        both = (rows // 2, columns // 2)
        return F.conv2d(x, self.weight, self.bias, self.stride, both)


class ConvEncoder(nn.Module):
    """The network of Mnih et al. 2015 up to its hidden layer, then d logits."""

    def __init__(self, frame: FrameShape, history: int, d: int, config: NetworkConfig) -> None:
        super().__init__()
        channels, height, width = frame
        channels *= history + 1
        layers: list[nn.Module] = []
        for outputs, side, stride in zip(
            config.conv_channels, config.conv_filters, config.conv_strides, strict=True
        ):
            layers += [Conv2dSame(channels, outputs, side, stride), nn.ReLU()]
            channels, height, width = outputs, -(-height // stride), -(-width // stride)
        self.convolutions = nn.Sequential(*layers)
        self.dense = mlp((channels * height * width, config.dense, d))

    def forward(self, frames: Tensor) -> Tensor:
        """Return the logits of the code."""
        logits: Tensor = self.dense(self.convolutions(frames.flatten(1, 2)).flatten(1))
        return logits


class MLPEncoder(nn.Module):
    """An MLP on the current frame and its history, concatenated."""

    def __init__(self, frame: FrameShape, history: int, d: int, config: NetworkConfig) -> None:
        super().__init__()
        inputs = (history + 1) * math.prod(frame)
        self.dense = mlp((inputs, *config.mlp_hidden, d))

    def forward(self, frames: Tensor) -> Tensor:
        """Return the logits of the code."""
        logits: Tensor = self.dense(frames.flatten(1))
        return logits


class ConvDecoder(nn.Module):
    """Transposed convolutions: a coarse grid of channels, doubled until it has the image's size.

    The grids have ceil(n / 2), ceil(n / 4) ... rows and columns. Where the finer grid has an odd
    size, the last row or column of the doubled one is cropped, which is what SAME padding does.
    """

    def __init__(self, frame: FrameShape, d: int, config: NetworkConfig) -> None:
        super().__init__()
        channels, height, width = frame
        doublings = len(config.deconv_channels)
        self.sizes = [
            (-(-height // 2**i), -(-width // 2**i)) for i in reversed(range(doublings + 1))
        ]
        self.dense = nn.Linear(d, config.deconv_channels[0] * math.prod(self.sizes[0]))
        self.deconvolutions = nn.ModuleList(
            nn.ConvTranspose2d(inputs, outputs, 4, 2, 1)
            for inputs, outputs in pairwise((*config.deconv_channels, channels))
        )

    def forward(self, code: Tensor) -> Tensor:
        """Return the logits of the image."""
        x: Tensor = self.dense(code).reshape(len(code), -1, *self.sizes[0])
        for layer, (height, width) in zip(self.deconvolutions, self.sizes[1:], strict=True):
            x = layer(x.relu())[..., :height, :width]
        return x

    @torch.no_grad()
    def initialise_output(self, mean: Tensor) -> None:
        """Set the output bias to the mean of these logits [C, H, W], one per channel."""
        last = self.deconvolutions[-1]
        assert isinstance(last, nn.ConvTranspose2d)
        assert last.bias is not None
        last.bias.copy_(mean.mean((1, 2)))


class MLPDecoder(nn.Module):
    """An MLP from the code to all pixels or entries."""

    def __init__(self, frame: FrameShape, d: int, config: NetworkConfig) -> None:
        super().__init__()
        self.frame = frame
        self.dense = mlp((d, *reversed(config.mlp_hidden), math.prod(frame)))

    def forward(self, code: Tensor) -> Tensor:
        """Return the logits of an image, or the means of a vector."""
        x: Tensor = self.dense(code)
        return x.reshape(-1, *self.frame)

    @torch.no_grad()
    def initialise_output(self, mean: Tensor) -> None:
        """Set the output bias to these logits or means, one per pixel or entry."""
        last = self.dense[-1]
        assert isinstance(last, nn.Linear)
        last.bias.copy_(mean.flatten())


Encoder = ConvEncoder | MLPEncoder
Decoder = ConvDecoder | MLPDecoder


def encoder(frame: FrameShape, history: int, d: int, config: NetworkConfig) -> Encoder:
    """Return the encoder that a config asks for."""
    if config.kind == "mlp":
        return MLPEncoder(frame, history, d, config)
    return ConvEncoder(_image(frame), history, d, config)


def decoder(frame: FrameShape, d: int, config: NetworkConfig) -> Decoder:
    """Return the decoder that a config asks for."""
    if config.kind == "mlp":
        return MLPDecoder(frame, d, config)
    return ConvDecoder(_image(frame), d, config)


def _image(frame: FrameShape) -> FrameShape:
    if len(frame) != 3:
        raise UserError(f"kind must be 'mlp' for observations of shape {frame}, got 'conv'")
    return frame


def built(
    build: Callable[[], M],
    generator: torch.Generator,
    dtype: torch.dtype = torch.float32,
    initialisation: Initialisation = "xavier",
) -> M:
    """Return a module on the generator's device, with all weights drawn from that generator.

    PyTorch initialises new layers from its global generator. They are therefore made on the meta
    device, without values, first.
    """
    with torch.device("meta"):
        module = build()
    module = module.to_empty(device=generator.device).to(dtype)
    for layer in module.modules():
        if isinstance(layer, nn.Linear | nn.Conv2d | nn.ConvTranspose2d):
            assert layer.bias is not None
            if initialisation == "xavier":
                nn.init.xavier_uniform_(layer.weight, generator=generator)
                nn.init.zeros_(layer.bias)
            else:
                bound = 1 / math.sqrt(layer.weight[0].numel())
                nn.init.uniform_(layer.weight, -bound, bound, generator=generator)
                nn.init.uniform_(layer.bias, -bound, bound, generator=generator)
    return module
