"""From observations as they are stored to what networks take: scaled and standardised.

Images come as [..., H, W, C] arrays of bytes, and leave as [..., C, H, W] in [0, 1]; vectors come
as [..., n] floats, and stay.
"""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from vast.errors import UserError
from vast.model.networks import FrameShape


class Observations(nn.Module):
    """What is known of the observations: their shape, and their mean and spread once fitted.

    `layout` is that of the frames in memory, for the networks that take them.
    """

    mean: Tensor
    std: Tensor
    fitted: Tensor

    def __init__(
        self,
        shape: tuple[int, ...],
        standardise: bool = True,
        layout: torch.memory_format = torch.contiguous_format,
    ) -> None:
        super().__init__()
        if len(shape) not in (1, 3) or min(shape) < 1:
            raise UserError(
                f"observations of shape {shape}: allowed are (rows, columns, channels) and (n,)"
            )
        self.shape = shape
        self.standardise = standardise
        self.layout = layout
        self.is_image = len(shape) == 3
        self.frame: FrameShape = (shape[2], *shape[:2]) if self.is_image else shape
        together = layout == torch.channels_last
        mean = torch.zeros(shape).movedim(-1, 0) if together else torch.zeros(self.frame)
        self.register_buffer("mean", mean)
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
        # Moved as bytes: that is a quarter of the memory.
        x = x.movedim(-1, 1).contiguous(memory_format=self.layout)
        return x.to(self.mean.dtype).div_(255)

    def standardised(self, frames: Tensor) -> Tensor:
        """Return frames as the encoder is shown them; the same ones as long as nothing is fitted.

        A blank frame, which stands before an episode's start, is treated like any other.
        """
        return (frames - self.mean).div_(self.std) if self.standardise else frames

    def restored(self, frames: Tensor) -> Tensor:
        """Undo `standardised`."""
        return frames * self.std + self.mean if self.standardise else frames

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
