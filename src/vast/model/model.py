"""The networks together: from frames and actions to the free energy."""

import math

import torch
from torch import Tensor, nn

from vast.model import concrete
from vast.model.config import ModelConfig
from vast.model.free_energy import Terms, bernoulli_cost, free_energy, gaussian_cost
from vast.model.networks import Encoder, built, decoder, encoder, lay_out
from vast.model.observations import Observations
from vast.model.transitions import TransitionNetworks, sorted_steps


def windows(
    frames: Tensor,
    blank: Tensor,
    first: Tensor,
    history: int,
    layout: torch.memory_format = torch.contiguous_format,
) -> Tensor:
    """Return what the encoder sees at each position of segments: [B, L + 1, k + 1, *frame].

    Of `frames` [B, L + 1 + k, *frame], the first k only are history. `first` [B, L] says which of
    positions 1 to L begin an episode: what lies before such a position is blank to itself and to
    those after it (paper, section 2.1). With `channels_last` for a layout, all channels of all
    frames of a window lie together at each pixel.
    """
    batch, length = first.shape
    assert frames.shape[:2] == (batch, length + 1 + history), frames.shape
    if not history:
        return frames[:, :, None]
    shape = (batch, length + 1, history + 1, *frames.shape[2:])
    if layout == torch.channels_last:
        *lead, depth, channels, height, width = shape
        stacked = frames.new_empty(*lead, height, width, depth, channels).permute(0, 1, 4, 5, 2, 3)
    else:
        stacked = frames.new_empty(shape)
    for i in range(history + 1):
        stacked[:, :, i] = frames[:, i : i + length + 1]
    if first.any():
        at = torch.arange(length + 1)
        begins = torch.where(first, at[1:] + history, 0).cummax(1).values
        seen = at[:, None] + torch.arange(history + 1)
        before = seen < nn.functional.pad(begins, (1, 0))[..., None]
        stacked[before.to(frames.device)] = blank
    return stacked


class Model(nn.Module):
    """Encoder q(s | o), decoder p(o | s), transitions p(s' | a, s) and first states pi(s)."""

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
        # Convolutions are faster when the channels of a pixel lie together.
        layout = torch.channels_last if network.kind == "conv" else torch.contiguous_format
        self.observations = Observations(shape, config.standardise, layout)
        self.observations.to(generator.device, dtype)
        frame = self.observations.frame
        self.encoder = built(lambda: encoder(frame, config.history, d, network), generator, dtype)
        self.decoder = built(lambda: decoder(frame, d, network), generator, dtype)
        self.transitions = built(
            lambda: TransitionNetworks(d, n_actions, network.transition_hidden), generator, dtype
        )
        lay_out(self, layout)
        self.initial = nn.Parameter(torch.zeros(d, device=generator.device, dtype=dtype))
        scale = torch.full_like(self.observations.std, math.log(network.vector_scale))
        self.log_scale: Tensor
        if network.learned_vector_scale and not self.observations.is_image:
            self.log_scale = nn.Parameter(scale)
        else:
            self.register_buffer("log_scale", scale, persistent=False)

    def code(self, z: Tensor) -> Tensor:
        """Return codes in [0, 1] as the decoder and the transition networks see them."""
        return 2 * z - 1 if self.config.network.signed_code else z

    def targets(self, frames: Tensor) -> Tensor:
        """Return what is reconstructed: images in [0, 1], vectors as the encoder sees them."""
        return frames if self.observations.is_image else self.observations.standardised(frames)

    def reconstructed(self, z: Tensor) -> Tensor:
        """Return the expected frame of each code [B, d]."""
        x: Tensor = self.decoder(self.code(z))
        return x.sigmoid() if self.observations.is_image else self.observations.restored(x)

    def seen(self, frames: Tensor, first: Tensor) -> Tensor:
        """Return what an encoder is shown at each position of segments: [B, L + 1, k + 1, *frame].

        `frames` [B, k + 1 + L, *frame]; `first` [B, L], which of the last L begin an episode.
        """
        see = self.observations.standardised
        blank = see(torch.zeros_like(self.observations.mean))
        layout = self.observations.layout
        return windows(see(frames), blank, first, self.config.history, layout)

    def posterior(self, seen: Tensor, by: Encoder | None = None) -> Tensor:
        """Return the encoder's logits of what it is shown, or another's: [B, L + 1, d]."""
        logits: Tensor = (by or self.encoder)(seen.flatten(0, 1))
        return logits.reshape(*seen.shape[:2], -1)

    def forward(
        self,
        frames: Tensor,
        actions: Tensor,
        first: Tensor,
        trained: Tensor,
        generator: torch.Generator,
    ) -> tuple[Terms[Tensor], Tensor, Tensor]:
        """Return the free energy of segments of L steps, the encoder's logits and what it saw.

        `frames` [B, k + 1 + L, *frame], `actions` [B, L] that led to each of the last L frames,
        `first` [B, L], which of these begin an episode, and `trained` [B, L], which of them count;
        all but the frames are in the main memory. L = 1 is the paper's minibatch (supplement,
        Algorithm 1, lines 17 to 19); with longer segments, a sampled code is both the successor of
        one step and the predecessor of the next, and is encoded once.
        """
        config, k = self.config, self.config.history
        seen = self.seen(frames, first)
        posterior = self.posterior(seen)
        y = concrete.sample(posterior, config.posterior_temperature, generator).flatten(0, 1)
        code = self.code(y.sigmoid())
        steps = sorted_steps(actions, first, trained, self.n_actions)
        before = (steps.segment * seen.shape[1] + steps.at).to(y.device)
        target = (steps.segment * frames.shape[1] + steps.at + k + 1).to(y.device)
        after = before + 1
        terms = free_energy(
            self._reconstruction_cost(frames.flatten(0, 1)[target], code.index_select(0, after)),
            y.index_select(0, after),
            posterior.flatten(0, 1).index_select(0, after),
            self._prior(code.index_select(0, before), steps.counts),
            config.posterior_temperature,
            config.prior_temperature,
            config.reconstruction_weight,
        )
        return terms, posterior, seen

    def _reconstruction_cost(self, frames: Tensor, code: Tensor) -> Tensor:
        expected: Tensor = self.decoder(code)
        if self.observations.is_image:
            return bernoulli_cost(frames, expected)
        return gaussian_cost(self.targets(frames), expected, self.log_scale)

    def _prior(self, before: Tensor, counts: list[int]) -> Tensor:
        """Return the logits of the prior, those of pi last, where episodes begin."""
        *taken, begins = counts
        priors: list[Tensor] = self.transitions(before[: sum(taken)], taken)
        if begins:
            priors.append(self.initial.expand(begins, -1))
        return torch.cat(priors)
