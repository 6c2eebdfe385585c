"""The networks together: from frames and actions to the free energy."""

import math

import torch
from torch import Tensor, nn

from vast.model import concrete
from vast.model.config import ModelConfig
from vast.model.free_energy import Terms, bernoulli_cost, free_energy, gaussian_cost
from vast.model.networks import Encoder, built, decoder, encoder
from vast.model.observations import Observations
from vast.model.transitions import TransitionNetworks


def windows(frames: Tensor, blank: Tensor, first: Tensor, history: int) -> Tensor:
    """Return what the encoder sees at each position of segments: [B, L + 1, k + 1, *frame].

    Of `frames` [B, L + 1 + k, *frame], the first k only are history. `first` [B, L] says which of
    positions 1 to L begin an episode: what lies before such a position is blank to itself and to
    those after it (paper, section 2.1).
    """
    batch, length = first.shape
    assert frames.shape[:2] == (batch, length + 1 + history), frames.shape
    if not history:
        return frames[:, :, None]
    at = torch.arange(length + 1, device=frames.device)
    seen = at[:, None] + torch.arange(history + 1, device=frames.device)
    stacked = frames[:, seen]
    if first.any():
        begins = torch.where(first, at[1:] + history, 0).cummax(1).values
        before = seen < nn.functional.pad(begins, (1, 0))[..., None]
        stacked = torch.where(
            before.reshape(*before.shape, *(1,) * blank.ndim), blank.expand_as(stacked), stacked
        )
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
        self.observations = Observations(shape).to(generator.device, dtype)
        frame = self.observations.frame
        self.encoder = built(lambda: encoder(frame, config.history, d, network), generator, dtype)
        self.decoder = built(lambda: decoder(frame, d, network), generator, dtype)
        self.transitions = built(
            lambda: TransitionNetworks(d, n_actions, network.transition_hidden), generator, dtype
        )
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

    def posterior(self, frames: Tensor, first: Tensor, by: Encoder | None = None) -> Tensor:
        """Return the encoder's logits at each position of segments, or another's: [B, L + 1, d]."""
        see = self.observations.standardised
        blank = see(torch.zeros_like(self.observations.mean))
        seen = windows(see(frames), blank, first, self.config.history)
        logits: Tensor = (by or self.encoder)(seen.flatten(0, 1))
        return logits.reshape(*seen.shape[:2], -1)

    def forward(
        self,
        frames: Tensor,
        actions: Tensor,
        first: Tensor,
        trained: Tensor,
        generator: torch.Generator,
    ) -> tuple[Terms[Tensor], Tensor]:
        """Return the free energy of segments of L steps, and the encoder's logits.

        `frames` [B, k + 1 + L, *frame], `actions` [B, L] that led to each of the last L frames,
        `first` [B, L], which of these begin an episode, and `trained` [B, L], which of them count.
        L = 1 is the paper's minibatch (supplement, Algorithm 1, lines 17 to 19); with longer
        segments, a sampled code is both the successor of one step and the predecessor of the next,
        and is encoded once.
        """
        config = self.config
        posterior = self.posterior(frames, first)
        y = concrete.sample(posterior, config.posterior_temperature, generator)
        code = self.code(y.sigmoid())
        target = self.targets(frames[:, config.history + 1 :])
        terms = free_energy(
            self._reconstruction_cost(target[trained], code[:, 1:][trained]),
            y[:, 1:][trained],
            posterior[:, 1:][trained],
            self._prior(code[:, :-1][trained], actions[trained], first[trained]),
            config.posterior_temperature,
            config.prior_temperature,
            config.reconstruction_weight,
        )
        return terms, posterior

    def _reconstruction_cost(self, target: Tensor, code: Tensor) -> Tensor:
        expected: Tensor = self.decoder(code)
        if self.observations.is_image:
            return bernoulli_cost(target, expected)
        return gaussian_cost(target, expected, self.log_scale)

    def _prior(self, before: Tensor, actions: Tensor, first: Tensor) -> Tensor:
        """Return the logits of the prior; those of pi where an episode begins."""
        (rows,) = (~first).nonzero(as_tuple=True)
        prior: Tensor = self.transitions(before[rows], actions[rows])
        if len(rows) < len(first):
            prior = self.initial.expand_as(before).index_copy(0, rows, prior)
        return prior
