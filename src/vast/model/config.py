"""Every number of the model; the defaults are the paper's, for 3D navigation."""

import math
from dataclasses import dataclass, field
from typing import Literal, get_args

from vast.errors import UserError, unknown
from vast.model.codes import MAX_BITS

Kind = Literal["conv", "mlp"]


@dataclass(frozen=True)
class NetworkConfig:
    """What the encoder, decoder and transition networks are made of; ReLU throughout."""

    kind: Kind = "conv"
    """convolutional as in the paper, or perceptrons, for small images and for vectors"""
    conv_channels: tuple[int, ...] = (32, 64, 64)
    """channels of the encoder's convolutions; Mnih et al. 2015, as the paper"""
    conv_filters: tuple[int, ...] = (8, 4, 3)
    """their filters' sides, in pixels; Mnih et al. 2015"""
    conv_strides: tuple[int, ...] = (4, 2, 1)
    """their strides, in pixels; Mnih et al. 2015"""
    dense: int = 512
    """units between the convolutions and the code; Mnih et al. 2015"""
    deconv_channels: tuple[int, ...] = (256, 64, 64, 32)
    """channels of the decoder from the coarsest grid on; each grid is twice the one before, with
    4x4 filters, and the image follows the last; supplement, 'Hyperparameters'"""
    mlp_hidden: tuple[int, ...] = (256, 256)
    """units of the perceptron encoder's hidden layers, and of the decoder's in reverse; ours"""
    transition_hidden: tuple[int, ...] = (512, 256, 512)
    """units of each action's transition network; supplement, 'Hyperparameters'"""
    signed_code: bool = False
    """show the decoder and the transition networks 2z - 1 instead of z; ours"""
    mean_output_bias: bool = False
    """let the decoder start from the mean of the frames handed to `fit_standardisation`; ours"""
    vector_scale: float = 0.1
    """standard deviation of a reconstructed vector's entries, in units of what the encoder is
    shown; ours (the paper has images only)"""
    learned_vector_scale: bool = False
    """learn that standard deviation, one per entry, from there; ours"""

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise unknown("kind of network", self.kind, get_args(Kind))
        if not len(self.conv_channels) == len(self.conv_filters) == len(self.conv_strides):
            raise UserError(
                "conv_channels, conv_filters and conv_strides must be of one length, not "
                f"{len(self.conv_channels)}, {len(self.conv_filters)}, {len(self.conv_strides)}"
            )
        if not self.deconv_channels:
            raise UserError("deconv_channels (): at least one number of channels is needed")
        sizes = (
            *(*self.conv_channels, *self.conv_filters, *self.conv_strides, self.dense),
            *(*self.deconv_channels, *self.mlp_hidden, *self.transition_hidden),
        )
        if min(sizes) < 1:
            raise UserError(f"size {min(sizes)} in the networks: allowed is 1 or more")
        _positive("vector_scale", self.vector_scale)


@dataclass(frozen=True)
class ModelConfig:
    """What is learned from what, and how."""

    n_bits: int = 32
    """d, dimensions of the code, 1 to 64; supplement, 'Hyperparameters' (64 for Pong)"""
    history: int = 0
    """k, earlier frames that the encoder sees beside the current one; paper, section 2 (3 for
    Pong)"""
    network: NetworkConfig = field(default_factory=NetworkConfig)
    """the networks"""
    standardise: bool = False
    """show the encoder (x - mean) / std instead of x, both from the frames handed to
    `fit_standardisation`; ours"""
    posterior_temperature: float = 2 / 3
    """lambda_1, at which codes are sampled and their entropy is taken; supplement"""
    prior_temperature: float = 1 / 2
    """lambda_2, at which transitions and initial states are judged; supplement"""
    reconstruction_weight: float = 1.0
    """factor of the reconstruction; for shrunk images, the ratio of the numbers of pixels keeps
    the balance of the paper; ours"""
    learning_rate: float = 2e-4
    """of Adam; supplement"""
    betas: tuple[float, float] = (0.9, 0.999)
    """of Adam; supplement"""
    epsilon: float = 1e-8
    """of Adam; supplement"""
    max_gradient_norm: float | None = 5000.0
    """longer gradients are cut to this length; None: never. The paper does not mention it; its
    authors' code has 5000 in Doom and 100 in Atari games"""
    final_learning_rate: float | None = None
    """what the learning rate falls to, linearly; None: it stays; ours"""
    learning_rate_steps: int = 0
    """training steps in which it falls; ours"""
    ema_decay: float = 0.0
    """share of its old weights that the encoder for tabulation keeps at each training step, an
    exponential moving average; 0: the encoder itself tabulates, as in the paper; ours"""

    def __post_init__(self) -> None:
        if not 1 <= self.n_bits <= MAX_BITS:
            raise UserError(f"n_bits {self.n_bits}: allowed is 1 to {MAX_BITS}")
        if self.history < 0:
            raise UserError(f"history {self.history}: allowed is 0 or more")
        for name in (
            *("posterior_temperature", "prior_temperature", "reconstruction_weight"),
            *("learning_rate", "epsilon", "max_gradient_norm", "final_learning_rate"),
        ):
            _positive(name, getattr(self, name))
        for name, share in (
            *(("betas", beta) for beta in self.betas),
            ("ema_decay", self.ema_decay),
        ):
            if not 0 <= share < 1:
                raise UserError(f"{name} {share}: allowed is 0 to below 1")
        if self.final_learning_rate is not None and self.learning_rate_steps < 1:
            raise UserError(
                f"learning_rate_steps {self.learning_rate_steps}: with a final_learning_rate, "
                "allowed is 1 or more"
            )

    def learning_rate_at(self, step: int) -> float:
        """Return the learning rate of a training step, counted from 0."""
        if self.final_learning_rate is None:
            return self.learning_rate
        done = min(step / self.learning_rate_steps, 1.0)
        return self.learning_rate + done * (self.final_learning_rate - self.learning_rate)


def _positive(name: str, value: float | None) -> None:
    if value is not None and not (value > 0 and math.isfinite(value)):
        raise UserError(f"{name} {value}: allowed are finite numbers above 0")
