"""How gradients pass a binary sample: three estimators of the gradient of F in the encoder.

The sampled code of a frame is binary, so no derivative passes it (paper, section 2.2). An estimator
says how a code is sampled, which log densities the terms of F are computed from, and which loss is
differentiated so that the encoder learns. The other networks always get the ordinary gradient of F.
What is tabulated is the same for all: the Bernoulli mode of the encoder's logits.

A further estimator is a class here, its entry in `ESTIMATORS` and its name in `EstimatorName`.
"""

from abc import ABC, abstractmethod
from typing import NamedTuple

import torch
from torch import Tensor, nn

from vast.model import bernoulli, concrete
from vast.model.config import EstimatorName, ModelConfig
from vast.model.free_energy import StepCosts, Terms, local_costs
from vast.model.networks import built, mlp

BASELINE_UNITS = 100
"""hidden units of the score function's baseline"""
STATISTICS_DECAY = 0.9
"""share of their old value that its running mean and variance keep at each training step"""


class SampledCodes(NamedTuple):
    """The M sampled codes of a minibatch, and where its N steps find theirs."""

    inputs: Tensor
    """what the encoder saw, [M, k + 1, *frame]"""
    logits: Tensor
    """the encoder's output, [M, d]"""
    sample: Tensor
    """what `Estimator.sample` drew at these logits, [M, d]"""
    before: Tensor
    """index of the code that a step starts from, [N]"""
    after: Tensor
    """index of the code that a step leads to, [N]"""
    n_transitions: int
    """these many steps come first; the others lead to first frames and have no predecessor"""


class Estimator(nn.Module, ABC):
    """Samples codes, and says what is differentiated. What it learns is saved with the model.

    `inputs` is the size of the encoder's input: the entries of a frame and its history.
    """

    def __init__(
        self, config: ModelConfig, inputs: int, generator: torch.Generator, dtype: torch.dtype
    ) -> None:
        super().__init__()

    @abstractmethod
    def sample(self, logits: Tensor, generator: torch.Generator) -> Tensor:
        """Return one sample for each logit, in the variable that the densities below are of."""

    def code(self, sample: Tensor) -> Tensor:
        """Return a sample as a code in [0, 1], for the decoder and the transition networks."""
        return sample

    @abstractmethod
    def log_posterior(self, sample: Tensor, logits: Tensor) -> Tensor:
        """Return log q of each bit at the encoder's logits, with the gradient of -H to be used."""

    @abstractmethod
    def log_prior(self, sample: Tensor, logits: Tensor) -> Tensor:
        """Return log p of each bit at the logits of the transition network or of pi."""

    def loss(self, terms: Terms[Tensor], costs: StepCosts, codes: SampledCodes) -> Tensor:
        """Return what is differentiated: F itself, if its gradient reaches the encoder."""
        return terms.free_energy


class Concrete(Estimator):
    """The paper's: samples and densities of the binary Concrete distribution (Eq. 8).

    The gradient is exact, but that of a relaxed F: codes are between 0 and 1.
    """

    def __init__(
        self, config: ModelConfig, inputs: int, generator: torch.Generator, dtype: torch.dtype
    ) -> None:
        super().__init__(config, inputs, generator, dtype)
        self.posterior_temperature = config.posterior_temperature
        self.prior_temperature = config.prior_temperature

    def sample(self, logits: Tensor, generator: torch.Generator) -> Tensor:
        """Return the pre-sigmoid variable y, through which gradients flow to the logits."""
        return concrete.sample(logits, self.posterior_temperature, generator)

    def code(self, sample: Tensor) -> Tensor:
        """Return sigmoid(y)."""
        return sample.sigmoid()

    @torch.no_grad()
    def log_posterior(self, sample: Tensor, logits: Tensor) -> Tensor:
        """Return log q(y). It is the density of the noise in y: logits do not change it."""
        return concrete.log_density(sample, logits, self.posterior_temperature)

    def log_prior(self, sample: Tensor, logits: Tensor) -> Tensor:
        """Return log p(y)."""
        return concrete.log_density(sample, logits, self.prior_temperature)


class StraightThrough(Estimator):
    """Hard samples, differentiated as if they were their means (Bengio et al. 2013).

    Forward, z is a Bernoulli sample; backward, dz/dx = sigmoid'(x): the variant that multiplies by
    the derivative of the sigmoid, not the one that takes the identity. The gradient is exact for
    what is linear in each bit, such as log q and log p of a target, and biased for the rest.
    """

    def sample(self, logits: Tensor, generator: torch.Generator) -> Tensor:
        """Return bits of value 0 or 1 and of gradient sigmoid'(logits)."""
        mean = logits.sigmoid()
        return bernoulli.sample(logits, generator) + (mean - mean.detach())

    def log_posterior(self, sample: Tensor, logits: Tensor) -> Tensor:
        """Return log q; its gradient passes through the bits only, and is that of -H, exactly.

        The gradient past the bits, d log q / dx at fixed bits, is 0 in expectation: only noise.
        """
        return bernoulli.log_probability(sample, logits.detach())

    def log_prior(self, sample: Tensor, logits: Tensor) -> Tensor:
        """Return log p."""
        return bernoulli.log_probability(sample, logits)


class ScoreFunction(Estimator):
    """NVIL (Mnih & Gregor 2014): hard samples, and REINFORCE for the encoder.

    The gradient for the logits x of a code s is signal * d log q(s) / dx. It is unbiased, up to a
    positive factor common to all logits. Its variance is reduced in the three ways of NVIL, which
    keep the direction of the expected gradient:

    - Local signals: the signal of a bit is the sum of those summands of F that depend on it
      (`local_costs`): of the step that leads to its code (own part), and of the step that starts
      from it (successor part). A code at an end of a segment has only one of the two parts.
    - Baselines: each part is reduced by its running mean and by what a small network predicts from
      the encoder's input. Neither depends on the sampled bits.
    - Normalisation: both parts are divided by one running standard deviation, at least 1.

    Running statistics are those of earlier batches; only the first batch uses its own.
    """

    mean: Tensor
    variance: Tensor
    started: Tensor

    def __init__(
        self, config: ModelConfig, inputs: int, generator: torch.Generator, dtype: torch.dtype
    ) -> None:
        super().__init__(config, inputs, generator, dtype)
        self.baseline = built(
            lambda: mlp((inputs, BASELINE_UNITS, 2)),
            generator,
            dtype,
            config.network.initialisation,
        )
        like = torch.zeros(2, dtype=dtype, device=generator.device)
        self.register_buffer("mean", like)
        self.register_buffer("variance", torch.zeros_like(like))
        self.register_buffer("started", torch.zeros_like(like, dtype=torch.bool))

    @property
    def scale(self) -> Tensor:
        """The divisor of both parts: the standard deviation of their sum, were they independent."""
        return self.variance.sum().sqrt().clamp(min=1)

    def sample(self, logits: Tensor, generator: torch.Generator) -> Tensor:
        """Return bits, through which no gradient flows."""
        return bernoulli.sample(logits, generator)

    @torch.no_grad()
    def log_posterior(self, sample: Tensor, logits: Tensor) -> Tensor:
        """Return log q as a number: the gradient of the entropy comes through the signal."""
        return bernoulli.log_probability(sample, logits)

    def log_prior(self, sample: Tensor, logits: Tensor) -> Tensor:
        """Return log p."""
        return bernoulli.log_probability(sample, logits)

    def loss(self, terms: Terms[Tensor], costs: StepCosts, codes: SampledCodes) -> Tensor:
        """Return F, for the other networks, plus what the encoder and the baseline learn from.

        The encoder's expected gradient is that of F, divided by `scale`. The baseline is trained on
        the squared error, in the same units.
        """
        own, successor = local_costs(costs)
        n, log_q = codes.n_transitions, bernoulli.log_probability(codes.sample, codes.logits)
        predicted: Tensor = self.baseline(codes.inputs.flatten(1))
        parts = [(0, own, codes.after), (1, successor[:n], codes.before[:n])]
        parts = [part for part in parts if len(part[1])]
        for i, signal, _ in parts:
            if not self.started[i]:
                self._track(i, signal, decay=0.0)
        loss = terms.free_energy
        for i, signal, at in parts:
            advantage = (signal - self.mean[i]) / self.scale - predicted[at, i, None]
            reinforce = (advantage.detach() * log_q[at]).sum() / len(codes.after)
            loss = loss + reinforce + advantage.square().mean()
        for i, signal, _ in parts:
            self._track(i, signal, STATISTICS_DECAY)
        return loss

    def _track(self, part: int, signal: Tensor, decay: float) -> None:
        self.mean[part].lerp_(signal.mean(), 1 - decay)
        self.variance[part].lerp_(signal.var(correction=0), 1 - decay)
        self.started[part] = True


ESTIMATORS: dict[EstimatorName, type[Estimator]] = {
    "concrete": Concrete,
    "straight-through": StraightThrough,
    "score-function": ScoreFunction,
}


def estimator(
    config: ModelConfig, inputs: int, generator: torch.Generator, dtype: torch.dtype
) -> Estimator:
    """Return the estimator that a config asks for."""
    return ESTIMATORS[config.estimator](config, inputs, generator, dtype)
