"""The networks together: from frames and actions to the free energy."""

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from vast.model.config import ModelConfig
from vast.model.estimators import SampledCodes, estimator
from vast.model.free_energy import StepCosts, Terms, bernoulli_cost, free_energy, gaussian_cost
from vast.model.networks import Encoder, built, decoder, encoder, set_memory_format
from vast.model.observations import Observations
from vast.model.target import Target
from vast.model.transitions import TransitionNetworks, steps_by_action


def history_windows(
    frames: Tensor,
    blank: Tensor,
    first: Tensor,
    history: int,
    memory_format: torch.memory_format = torch.contiguous_format,
) -> Tensor:
    """Return each position of segments with its history: [B, L + 1, k + 1, *frame].

    Of `frames` [B, k + 1 + L, *frame], the first k serve as history only. `first` [B, L] says which
    of positions 1 to L begin an episode: frames before such a position are blank for itself and for
    all later positions (paper, section 2.1). With `channels_last`, all channels of all frames of a
    window are adjacent in memory at each pixel.
    """
    batch, length = first.shape
    assert frames.shape[:2] == (batch, length + 1 + history), frames.shape
    if not history:
        return frames[:, :, None]
    shape = (batch, length + 1, history + 1, *frames.shape[2:])
    if memory_format == torch.channels_last:
        *lead, depth, channels, height, width = shape
        stacked = frames.new_empty(*lead, height, width, depth, channels).permute(0, 1, 4, 5, 2, 3)
    else:
        stacked = frames.new_empty(shape)
    for i in range(history + 1):
        stacked[:, :, i] = frames[:, i : i + length + 1]
    if first.any():
        position = torch.arange(length + 1)
        begins = torch.where(first, position[1:] + history, 0).cummax(1).values
        shown = position[:, None] + torch.arange(history + 1)
        before = shown < nn.functional.pad(begins, (1, 0))[..., None]
        stacked[before.to(frames.device)] = blank
    return stacked


class Evaluation(NamedTuple):
    """What the model makes of a minibatch."""

    loss: Tensor
    """what is differentiated; the free energy, or what the estimator puts in its place"""
    terms: Terms[Tensor]
    """the free energy and its terms"""
    posterior: Tensor
    """the encoder's logits, [B, L + 1, d]"""
    inputs: Tensor
    """what the encoder was shown, [B, L + 1, k + 1, *frame]"""


class Model(nn.Module):
    """Encoder q(s | o), decoder p(o | s), transitions p(s' | a, s), initial distribution pi(s)."""

    def __init__(
        self,
        shape: tuple[int, ...],
        n_actions: int,
        config: ModelConfig,
        generator: torch.Generator,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        super().__init__()
        d, network = config.n_bits, config.network
        self.config = config
        self.n_actions = n_actions
        # Convolutions are faster when the channels of a pixel are adjacent in memory.
        conv = network.kind == "conv"
        memory_format = torch.channels_last if conv else torch.contiguous_format
        self.observations = Observations(shape, config.standardise, memory_format)
        self.observations.to(generator.device, dtype)
        frame = self.observations.frame
        drawn = generator, dtype, network.initialisation
        self.encoder = built(lambda: encoder(frame, config.history, d, network), *drawn)
        self.target = Target(frame, config.target).to(generator.device, dtype)
        self.decoder = built(lambda: decoder(self.target.shape, d, network), *drawn)
        self.transitions = built(
            lambda: TransitionNetworks(d, n_actions, network.transition_hidden), *drawn
        )
        set_memory_format(self, memory_format)
        self.initial = nn.Parameter(torch.zeros(d, device=generator.device, dtype=dtype))
        scale = torch.full_like(self.observations.std, math.log(network.vector_scale))
        self.log_scale: Tensor
        if network.learned_vector_scale and not self.observations.is_image:
            self.log_scale = nn.Parameter(scale)
        else:
            self.register_buffer("log_scale", scale, persistent=False)
        # Last, so that the networks start from the same weights whatever the estimator draws.
        inputs = (config.history + 1) * math.prod(frame)
        self.estimator = estimator(config, inputs, generator, dtype)

    def network_code(self, z: Tensor) -> Tensor:
        """Return codes in [0, 1] as the decoder and the transition networks are shown them."""
        return 2 * z - 1 if self.config.network.signed_code else z

    def reconstructed(self, z: Tensor) -> Tensor:
        """Return the expected frame of each code [N, d]."""
        x = self.target.current(self.decoder(self.network_code(z)))
        return x.sigmoid() if self.observations.is_image else self.observations.restored(x)

    @torch.no_grad()
    def fit(self, frames: Tensor) -> None:
        """Compute from these [N, *frame] frames what training starts from, as the config says."""
        config, observations = self.config, self.observations
        if config.standardise:
            observations.fit(frames)
        target = self._target(frames)
        self.target.fit(target)
        if config.network.mean_output_bias:
            mean = self.target.repeated(target.mean(0))
            # 0.5 / 255: half of the smallest brightness above 0; its logit is finite
            is_image = observations.is_image
            self.decoder.initialise_output(mean.logit(eps=0.5 / 255) if is_image else mean)
        observations.fitted.fill_(True)

    def encoder_inputs(self, frames: Tensor, first: Tensor) -> Tensor:
        """Return what an encoder is shown at each position of segments: [B, L + 1, k + 1, *frame].

        `frames` [B, k + 1 + L, *frame]; `first` [B, L], which of the last L begin an episode.
        """
        standardised = self.observations.standardised
        blank = standardised(torch.zeros_like(self.observations.mean))
        memory_format = self.observations.memory_format
        return history_windows(
            standardised(frames), blank, first, self.config.history, memory_format
        )

    def posterior(self, inputs: Tensor, encoder: Encoder | None = None) -> Tensor:
        """Return the logits of q for `encoder_inputs`, by default from our encoder: [B, L+1, d]."""
        logits: Tensor = (encoder or self.encoder)(inputs.flatten(0, 1))
        return logits.reshape(*inputs.shape[:2], -1)

    def forward(
        self,
        frames: Tensor,
        actions: Tensor,
        first: Tensor,
        trained: Tensor,
        generator: torch.Generator,
    ) -> Evaluation:
        """Return the free energy of segments of L steps, and the loss whose gradient lowers it.

        `frames` [B, k + 1 + L, *frame]; `actions` [B, L] that led to each of the last L frames;
        `first` [B, L], which of these begin an episode; `trained` [B, L], which of them count. All
        but the frames are on the CPU. L = 1 is the paper's minibatch (supplement, Algorithm 1,
        lines 17 to 20). In longer segments, a sampled code is both the successor of one step and
        the predecessor of the next, and is encoded once.
        """
        inputs = self.encoder_inputs(frames, first)
        posterior = self.posterior(inputs)
        logits = posterior.flatten(0, 1)
        sample = self.estimator.sample(logits, generator)
        code = self.network_code(self.estimator.code(sample))

        steps = steps_by_action(actions, first, trained, self.n_actions)
        before = (steps.segment * inputs.shape[1] + steps.position).to(code.device)
        after = before + 1
        now = steps.segment * frames.shape[1] + steps.position + self.config.history + 1
        current = frames.flatten(0, 1).index_select(0, now.to(code.device))
        past = self.config.target.past
        earlier = inputs.flatten(0, 1)[after, -1 - past] if past else None

        target = self._target(current, earlier)
        reconstruction = self._reconstruction_cost(target, code.index_select(0, after))
        s, q = sample.index_select(0, after), logits.index_select(0, after)
        p = self._prior(code.index_select(0, before), steps.counts)
        costs = StepCosts(
            reconstruction,
            self.estimator.log_prior(s, p),
            self.estimator.log_posterior(s, q),
            self.config.reconstruction_weight,
        )
        terms = free_energy(costs)
        n_transitions = sum(steps.counts[:-1])
        codes = SampledCodes(inputs.flatten(0, 1), logits, sample, before, after, n_transitions)
        return Evaluation(self.estimator.loss(terms, costs, codes), terms, posterior, inputs)

    def _target(self, current: Tensor, earlier: Tensor | None = None) -> Tensor:
        """Return what is reconstructed, of frames and of earlier ones as the encoder sees them.

        It consists of images in [0, 1], or of vectors as the encoder sees them.
        """
        if self.observations.is_image:
            before = None if earlier is None else self.observations.restored(earlier)
            target: Tensor = self.target(current, before)
        else:
            target = self.target(self.observations.standardised(current), earlier)
        return target

    def _reconstruction_cost(self, target: Tensor, code: Tensor) -> Tensor:
        expected: Tensor = self.decoder(code)
        if self.observations.is_image:
            return bernoulli_cost(target, expected, self.target.weights)
        return gaussian_cost(target, expected, self.target.repeated(self.log_scale))

    def _prior(self, before: Tensor, counts: list[int]) -> Tensor:
        """Return the logits of p(s_t | a_t, s_{t-1}), then those of pi for first frames."""
        if self.config.prior == "fixed":
            return torch.zeros_like(before)
        *taken, begins = counts
        priors: list[Tensor] = self.transitions(before[: sum(taken)], taken)
        if begins:
            priors.append(self.initial.expand(begins, -1))
        return torch.cat(priors)
