"""What the decoder is to reconstruct: the current frame as in the paper, or more of it (ours).

A small thing that moves is a few pixels among many, each of which shows it rarely. Three options
let it count: pixels that seldom change weigh more, bright pixels spread over their neighbours, so
that a near miss costs less than a far one, and an earlier frame beside the current one shows where
things come from.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from vast.errors import UserError
from vast.model.config import TargetConfig
from vast.model.networks import FrameShape

SPREAD_REACH = 3
"""standard deviations beyond which bright pixels have no effect"""
LEAST_VARIANCE = 0.01
"""share of the mean variance: a pixel that varies less weighs no more"""


class Target(nn.Module):
    """Turns the frames that a state stands for into what is reconstructed from it.

    The channels of the current frame come first, then those of the earlier one.
    """

    weights: Tensor | None
    """of each pixel in the cost of its reconstruction, [*shape]; None: all count alike"""

    def __init__(self, frame: FrameShape, config: TargetConfig) -> None:
        super().__init__()
        images_only = config.spread or config.weighting
        if images_only and len(frame) != 3:
            raise UserError("spread and weighting of the target must be 0 unless frames are images")
        self.config = config
        self.channels = frame[0]
        frames = 2 if config.past else 1
        self.shape: FrameShape = (frames * frame[0], *frame[1:])
        """of what is reconstructed, (channels, rows, columns) or (entries,)"""
        weights = torch.ones(self.shape) if config.weighting else None
        self.register_buffer("weights", weights)

    def forward(self, current: Tensor, earlier: Tensor | None = None) -> Tensor:
        """Return the target for frames and, if given, for those before: [N, *shape]."""
        frames = [current] if earlier is None else [current, earlier]
        return torch.cat([self._spread(each) for each in frames], 1)

    def _spread(self, frames: Tensor) -> Tensor:
        """Return frames [N, *frame] with bright pixels spread over their neighbours."""
        sigma = self.config.spread
        reach = math.ceil(SPREAD_REACH * sigma)
        for axis in (-2, -1) if reach else ():
            # The Gaussian of two dimensions is a product, and so is the maximum under it.
            size = frames.shape[axis]
            padding = (reach, reach, 0, 0) if axis == -1 else (0, 0, reach, reach)
            padded = F.pad(frames, padding)
            frames = torch.zeros_like(frames)
            for shift in range(-reach, reach + 1):
                height = math.exp(-((shift / sigma) ** 2) / 2)
                shifted = padded.narrow(axis, reach + shift, size)
                frames = torch.maximum(frames, height * shifted)
        return frames

    def current(self, reconstruction: Tensor) -> Tensor:
        """Return the part of a reconstruction that is the current frame."""
        return reconstruction[:, : self.channels]

    def repeated(self, frame: Tensor) -> Tensor:
        """Return one value per pixel of a frame, once for each frame of the target."""
        return torch.cat([frame] * (self.shape[0] // self.channels))

    def fit(self, targets: Tensor) -> None:
        """Weigh each pixel by how much it varies in these targets, of current frames only.

        The mean of weight times variance is the mean variance, whatever the exponent: so the
        reconstruction keeps its balance with the other terms of the free energy.
        """
        if self.weights is None:
            return
        variance = targets.var(0, correction=0)
        mean = variance.mean()
        floored = variance.clamp(min=LEAST_VARIANCE * float(mean))
        weights = floored**-self.config.weighting
        scale = mean / (weights * variance).mean()
        self.weights.copy_(self.repeated(torch.where(mean > 0, weights * scale, 1.0)))
