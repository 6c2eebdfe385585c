"""The hyperparameters of the model; the defaults are the paper's, for 3D navigation."""

from dataclasses import dataclass, field
from typing import Literal, get_args

from vast.checks import at_least, below_one, between, finite, not_negative, one_of, positive
from vast.errors import UserError
from vast.model.codes import MAX_BITS

NetworkKind = Literal["conv", "mlp"]
Initialisation = Literal["xavier", "torch"]
Prior = Literal["learned", "fixed"]
EstimatorName = Literal["concrete", "straight-through", "score-function"]


@dataclass(frozen=True)
class NetworkConfig:
    """Architecture of the encoder, decoder and transition networks; ReLU throughout."""

    kind: NetworkKind = "conv"
    """convolutional as in the paper, or multilayer perceptrons, for small images and for vectors"""
    initialisation: Initialisation = "xavier"
    """xavier: weights uniform within sqrt(6 / (inputs + outputs)), biases 0, as in the authors'
    code; torch: both uniform within 1 / sqrt(inputs), PyTorch's default; ours"""
    conv_channels: tuple[int, ...] = (32, 64, 64)
    """channels of the encoder's convolutions; Mnih et al. 2015, as in the paper"""
    conv_filters: tuple[int, ...] = (8, 4, 3)
    """side lengths of their filters, in pixels; Mnih et al. 2015"""
    conv_strides: tuple[int, ...] = (4, 2, 1)
    """their strides, in pixels; Mnih et al. 2015"""
    dense: int = 512
    """units of the hidden layer between the convolutions and the code; Mnih et al. 2015"""
    deconv_channels: tuple[int, ...] = (256, 64, 64, 32)
    """channels of the decoder from the coarsest grid on; each grid is twice the size of the one
    before, with 4x4 filters, and the image follows the last; supplement, 'Hyperparameters'"""
    mlp_hidden: tuple[int, ...] = (256, 256)
    """units of the MLP encoder's hidden layers, and of the decoder's in reverse; ours"""
    transition_hidden: tuple[int, ...] = (512, 256, 512)
    """units of the hidden layers of each action's transition network; supplement,
    'Hyperparameters'"""
    signed_code: bool = False
    """show the decoder and the transition networks 2z - 1 instead of z; ours"""
    mean_output_bias: bool = False
    """initialise the decoder's output to the mean of the frames passed to `fit_standardisation`;
    ours"""
    vector_scale: float = 0.1
    """standard deviation of a reconstructed vector's entries, in units of the encoder's input;
    ours (the paper has images only)"""
    learned_vector_scale: bool = False
    """learn that standard deviation, one per entry, starting from there; ours"""

    def __post_init__(self) -> None:
        one_of(get_args(NetworkKind), kind=self.kind)
        one_of(get_args(Initialisation), initialisation=self.initialisation)
        if not len(self.conv_channels) == len(self.conv_filters) == len(self.conv_strides):
            raise UserError(
                "conv_channels, conv_filters and conv_strides must have the same length, got "
                f"{len(self.conv_channels)}, {len(self.conv_filters)} and {len(self.conv_strides)}"
            )
        if not self.deconv_channels:
            raise UserError("deconv_channels must have at least one entry, got ()")
        sizes = (
            *(*self.conv_channels, *self.conv_filters, *self.conv_strides, self.dense),
            *(*self.deconv_channels, *self.mlp_hidden, *self.transition_hidden),
        )
        if min(sizes) < 1:
            raise UserError(f"all sizes of the networks must be at least 1, got {min(sizes)}")
        positive(vector_scale=self.vector_scale)


@dataclass(frozen=True)
class TargetConfig:
    """What is reconstructed from a state; the defaults are the current frame, as in the paper."""

    past: int = 0
    """reconstruct the frame this many steps earlier, too, which shows what moves, and where to; 0:
    the current frame only; ours"""
    spread: float = 0.0
    """standard deviation in pixels of a Gaussian over which bright pixels spread, so that a near
    miss costs less than a far one: each pixel becomes the maximum of those around it times the
    Gaussian; 0: none; ours"""
    weighting: float = 0.0
    """x: the cost of a pixel is divided by its variance to the power of x, so that pixels that
    seldom change count more (less, if x is negative); from the frames passed to
    `fit_standardisation`; 0: all count alike; ours"""

    def __post_init__(self) -> None:
        at_least(0, past=self.past)
        not_negative(spread=self.spread)
        finite(weighting=self.weighting)


@dataclass(frozen=True)
class ModelConfig:
    """What the model learns, and how it is trained."""

    n_bits: int = 32
    """d, number of bits of the code, 1 to 64; supplement, 'Hyperparameters' (64 for Pong)"""
    history: int = 0
    """k, number of earlier frames that the encoder sees beside the current one; paper, section 2
    (3 for Pong)"""
    network: NetworkConfig = field(default_factory=NetworkConfig)
    """the networks"""
    target: TargetConfig = field(default_factory=TargetConfig)
    """what is reconstructed"""
    estimator: EstimatorName = "concrete"
    """how gradients pass the sampled code: the Concrete relaxation (paper, section 2.2),
    straight-through (Bengio et al. 2013), or the score function with baselines, NVIL (Mnih & Gregor
    2014; paper, Discussion)"""
    standardise: bool = False
    """show the encoder (x - mean) / std instead of x, both computed from the frames passed to
    `fit_standardisation`; ours"""
    prior: Prior = "learned"
    """learned: the transition networks and the initial distribution, as in the paper; fixed: every
    bit is 1 with probability 1/2, a VAE's prior, for comparison only"""
    posterior_temperature: float = 2 / 3
    """lambda_1, of the Concrete samples and their entropy; supplement"""
    prior_temperature: float = 1 / 2
    """lambda_2, of the Concrete densities of transitions and initial states; supplement"""
    reconstruction_weight: float = 1.0
    """factor of the reconstruction term; for downscaled images, the ratio of the numbers of pixels
    keeps the balance of the paper's terms; ours"""
    learning_rate: float = 2e-4
    """of Adam; supplement"""
    betas: tuple[float, float] = (0.9, 0.999)
    """of Adam; supplement"""
    epsilon: float = 1e-8
    """of Adam; supplement"""
    max_gradient_norm: float | None = 5000.0
    """gradients with a larger norm are rescaled to this norm; None: never. The paper does not
    mention it; its authors' code uses 5000 in Doom and 100 in Atari games"""
    final_learning_rate: float | None = None
    """what the learning rate decreases to, linearly; None: it stays constant; ours"""
    learning_rate_steps: int = 0
    """number of training steps over which it decreases; ours"""
    ema_decay: float = 0.0
    """share of its old weights that the encoder for tabulation keeps at each training step, an
    exponential moving average; 0: the encoder itself tabulates, as in the paper; ours"""

    def __post_init__(self) -> None:
        between(1, MAX_BITS, n_bits=self.n_bits)
        at_least(0, history=self.history)
        one_of(get_args(EstimatorName), estimator=self.estimator)
        one_of(get_args(Prior), prior=self.prior)
        if self.target.past > self.history:
            raise UserError(
                f"past of the target must be at most {self.history}, the history, "
                f"got {self.target.past}"
            )
        positive(
            posterior_temperature=self.posterior_temperature,
            prior_temperature=self.prior_temperature,
            reconstruction_weight=self.reconstruction_weight,
            learning_rate=self.learning_rate,
            epsilon=self.epsilon,
            max_gradient_norm=self.max_gradient_norm,
            final_learning_rate=self.final_learning_rate,
        )
        for beta in self.betas:
            below_one(betas=beta)
        below_one(ema_decay=self.ema_decay)
        if self.final_learning_rate is not None and self.learning_rate_steps < 1:
            raise UserError(
                "learning_rate_steps must be at least 1 if final_learning_rate is set, got "
                f"{self.learning_rate_steps}"
            )

    @property
    def fits_frames(self) -> bool:
        """Whether something must be computed from frames before training."""
        return bool(self.standardise or self.network.mean_output_bias or self.target.weighting)

    def learning_rate_at(self, step: int) -> float:
        """Return the learning rate of a training step, counted from 0."""
        if self.final_learning_rate is None:
            return self.learning_rate
        done = min(step / self.learning_rate_steps, 1.0)
        return self.learning_rate + done * (self.final_learning_rate - self.learning_rate)
