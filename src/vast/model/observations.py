"""From stored observations to the input of networks: scaled and standardised.

Images are stored as [..., H, W, C] arrays of bytes and become [..., C, H, W] tensors in [0, 1];
vectors are [..., n] floats in both.
"""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from vast.errors import UserError
from vast.model.networks import FrameShape


class Observations(nn.Module):
    """The shape of observations, and their mean and standard deviation once fitted.

    `memory_format` is that of the frames, chosen for the networks that take them.
    """

    mean: Tensor
    std: Tensor
    fitted: Tensor

    def __init__(
        self,
        shape: tuple[int, ...],
        standardise: bool = True,
        memory_format: torch.memory_format = torch.contiguous_format,
    ) -> None:
        super().__init__()
        if len(shape) not in (1, 3) or min(shape) < 1:
            raise UserError(
                f"the shape of observations must be (rows, columns, channels) or (n,), got {shape}"
            )
        self.shape = shape
        self.standardise = standardise
        self.memory_format = memory_format
        self.is_image = len(shape) == 3
        self.frame: FrameShape = (shape[2], *shape[:2]) if self.is_image else shape
        channels_last = memory_format == torch.channels_last
        mean = torch.zeros(shape).movedim(-1, 0) if channels_last else torch.zeros(self.frame)
        self.register_buffer("mean", mean)
        self.register_buffer("std", torch.ones(() if self.is_image else self.frame))
        self.register_buffer("fitted", torch.zeros((), dtype=torch.bool))

    def check(self, observations: NDArray[Any]) -> None:
        """Raise ValueError unless these are observations [N, *shape]."""
        expected = np.uint8 if self.is_image else np.floating
        if observations.shape[1:] != self.shape or not np.issubdtype(observations.dtype, expected):
            raise ValueError(
                f"observations must have shape {self.shape} and type "
                f"{'uint8' if self.is_image else 'float'}, got {observations.shape[1:]} and "
                f"{observations.dtype}"
            )

    def frames(self, observations: NDArray[Any]) -> Tensor:
        """Return observations [N, *shape] as frames [N, *frame]."""
        self.check(observations)
        x = torch.from_numpy(np.ascontiguousarray(observations))
        if not self.is_image:
            return x.to(self.mean.dtype).to(self.mean.device)
        # Moved and rearranged as bytes, which take a quarter of the memory of floats.
        x = x.to(self.mean.device).movedim(-1, 1).contiguous(memory_format=self.memory_format)
        return x.to(self.mean.dtype).div_(255)

    def standardised(self, frames: Tensor) -> Tensor:
        """Return (frames - mean) / std, as the encoder is shown them; unchanged until fitted.

        Blank frames, which precede an episode's start, are treated like any other.
        """
        return (frames - self.mean).div_(self.std) if self.standardise else frames

    def restored(self, frames: Tensor) -> Tensor:
        """Undo `standardised`."""
        return frames * self.std + self.mean if self.standardise else frames

    def fit(self, frames: Tensor) -> None:
        """Compute mean and standard deviation from these frames.

        Images have a mean per pixel and one standard deviation for all pixels: otherwise, pixels
        that hardly ever change would be amplified the most. The entries of a vector have different
        units, so each has its own standard deviation; an entry that never changes is only centred.
        """
        mean = frames.mean(0)
        variance = (frames - mean).square()
        std = variance.mean().sqrt() if self.is_image else variance.mean(0).sqrt()
        self.mean.copy_(mean)
        self.std.copy_(torch.where(std > 1e-6, std, 1.0))
