"""From observations as environments give them to what networks take: scaled, shrunk, standardised.

Images come as [..., H, W, C] arrays of bytes, and leave as [..., C, h, w] in [0, 1]; vectors come
as [..., n] floats, and stay.
"""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from vast.errors import UserError
from vast.model.networks import FrameShape


def area_weights(n: int, m: int) -> NDArray[np.float64]:
    """Return [m, n] weights that average n pixels into m: each by the length it has in common."""
    edges = np.arange(m + 1) * (n / m)
    pixels = np.arange(n)
    low = np.maximum(edges[:-1, None], pixels)
    high = np.minimum(edges[1:, None], pixels + 1)
    weights: NDArray[np.float64] = np.maximum(high - low, 0) * (m / n)
    return weights


class Observations(nn.Module):
    """What is known of the observations: their shape, and their mean and spread once fitted."""

    mean: Tensor
    std: Tensor
    fitted: Tensor
    rows: Tensor
    columns: Tensor

    def __init__(self, shape: tuple[int, ...], resize: tuple[int, int] | None) -> None:
        super().__init__()
        if len(shape) not in (1, 3) or min(shape) < 1:
            raise UserError(
                f"observations of shape {shape}: allowed are (rows, columns, channels) and (n,)"
            )
        self.shape = shape
        self.is_image = len(shape) == 3
        self.frame: FrameShape = shape
        self.resized = False
        if self.is_image:
            height, width, channels = shape
            h, w = resize or (height, width)
            if h > height or w > width:
                raise UserError(f"resize {resize}: allowed is up to ({height}, {width})")
            self.frame = (channels, h, w)
            self.resized = (h, w) != (height, width)
            for name, n, m in (("rows", height, h), ("columns", width, w)):
                weights = torch.from_numpy(area_weights(n, m)).to(torch.float32)
                self.register_buffer(name, weights, persistent=False)
        elif resize is not None:
            raise UserError(f"resize {resize}: allowed only for images")
        self.register_buffer("mean", torch.zeros(self.frame))
        self.register_buffer("std", torch.ones(() if self.is_image else self.frame))
        self.register_buffer("fitted", torch.zeros((), dtype=torch.bool))

    def frames(self, observations: NDArray[Any]) -> Tensor:
        """Return observations [N, *shape] as frames [N, *frame]."""
        expected = np.uint8 if self.is_image else np.floating
        if observations.shape[1:] != self.shape or not np.issubdtype(observations.dtype, expected):
            raise ValueError(
                f"observations of shape {observations.shape[1:]} and type {observations.dtype}: "
                f"expected are {self.shape} and {'uint8' if self.is_image else 'floats'}"
            )
        x = torch.from_numpy(np.ascontiguousarray(observations)).to(self.mean.device)
        if not self.is_image:
            return x.to(self.mean.dtype)
        x = x.movedim(-1, 1).to(self.mean.dtype) / 255
        return self.rows @ (x @ self.columns.T) if self.resized else x

    def standardised(self, frames: Tensor) -> Tensor:
        """Return frames as the encoder is shown them; the same ones as long as nothing is fitted.

        A blank frame, which stands before an episode's start, is treated like any other.
        """
        return (frames - self.mean) / self.std

    def restored(self, frames: Tensor) -> Tensor:
        """Undo `standardised`."""
        return frames * self.std + self.mean

    def fit(self, frames: Tensor) -> None:
        """Take mean and spread from these frames.

        An image has one mean per pixel and one spread for all: pixels that hardly ever change
        would otherwise be blown up the most. A vector's entries have units of their own, so each
        has its own spread; an entry that never changes is only centred.
        """
        mean = frames.mean(0)
        variance = (frames - mean).square()
        std = variance.mean().sqrt() if self.is_image else variance.mean(0).sqrt()
        self.mean.copy_(mean)
        self.std.copy_(torch.where(std > 1e-6, std, 1.0))
