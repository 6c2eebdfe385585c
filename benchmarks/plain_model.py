"""One training step of the model in plain PyTorch, as a baseline for the speed of ours.

Every action's network is evaluated for every step, and one is selected; each of a step's two frames
is encoded with its own history; memory layout and optimiser are PyTorch's, without fusing. It
copies the weights and the noise of a `Tabulator`, so both must compute the same free energy.
"""

import copy
import math

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from vast.model import Batch, ModelConfig, Tabulator
from vast.model.networks import mlp, set_memory_format


class Crop(nn.Module):
    """Removes the last row: 8 rows are doubled to 16, but 15 are needed."""

    def forward(self, x: Tensor) -> Tensor:
        """Return all rows but the last."""
        return x[:, :, :-1]


def papers_networks(config: ModelConfig, channels: int) -> tuple[nn.Module, nn.Module]:
    """Return the paper's encoder and decoder, for images of 60x80."""
    encoder = nn.Sequential(
        *(nn.ZeroPad2d((2, 2, 2, 2)), nn.Conv2d(channels * (config.history + 1), 32, 8, 4)),
        *(nn.ReLU(), nn.ZeroPad2d((1, 1, 1, 2)), nn.Conv2d(32, 64, 4, 2)),
        *(nn.ReLU(), nn.ZeroPad2d((1, 1, 1, 1)), nn.Conv2d(64, 64, 3, 1)),
        *(nn.ReLU(), nn.Flatten(), mlp([64 * 8 * 10, 512, config.n_bits])),
    )
    decoder = nn.Sequential(
        *(nn.Linear(config.n_bits, 256 * 4 * 5), nn.ReLU(), nn.Unflatten(1, (256, 4, 5))),
        *(nn.ConvTranspose2d(256, 64, 4, 2, 1), nn.ReLU()),
        *(nn.ConvTranspose2d(64, 64, 4, 2, 1), Crop(), nn.ReLU()),
        *(nn.ConvTranspose2d(64, 32, 4, 2, 1), nn.ReLU()),
        nn.ConvTranspose2d(32, channels, 4, 2, 1),
    )
    return encoder, decoder


def perceptrons(config: ModelConfig, frame: tuple[int, ...]) -> tuple[nn.Module, nn.Module]:
    """Return perceptrons, for small images."""
    hidden, n = list(config.network.mlp_hidden), math.prod(frame)
    encoder = nn.Sequential(nn.Flatten(), mlp([(config.history + 1) * n, *hidden, config.n_bits]))
    decoder = nn.Sequential(mlp([config.n_bits, *hidden[::-1], n]), nn.Unflatten(1, frame))
    return encoder, decoder


class PlainModel(nn.Module):
    """Encoder, decoder, transition networks and initial distribution."""

    def __init__(self, like: Tabulator) -> None:
        super().__init__()
        config, (height, width, channels) = like.config, like.shape
        self.config = config
        self.initial = nn.Parameter(torch.zeros(config.n_bits))
        self.encoder, self.decoder = (
            papers_networks(config, channels)
            if config.network.kind == "conv"
            else perceptrons(config, (channels, height, width))
        )
        sizes = [config.n_bits, *config.network.transition_hidden, config.n_bits]
        self.transitions = nn.ModuleList(mlp(sizes) for _ in range(like.n_actions))
        self.mean, self.std = (
            tensor.contiguous()
            for tensor in (like.model.observations.mean, like.model.observations.std)
        )

    def free_energy(self, frames: Tensor, actions: Tensor, first: Tensor, u: Tensor) -> Tensor:
        """Return the free energy of single steps, frames [B, k + 2, *frame] (paper, Eq. 4 to 7)."""
        config, k = self.config, self.config.history
        before, after = frames[:, : k + 1], frames[:, 1:].clone()
        after[first, :k] = 0
        posterior = torch.stack(
            [self.encoder(((x - self.mean) / self.std).flatten(1, 2)) for x in (before, after)], 1
        )
        noise = torch.logit(u, eps=torch.finfo(u.dtype).eps / 2)
        y = (posterior + noise) / config.posterior_temperature
        z = torch.sigmoid(y)
        if config.network.signed_code:
            z = 2 * z - 1
        priors = torch.stack([network(z[:, 0]) for network in self.transitions], 1)
        prior = torch.where(first[:, None], self.initial, priors[torch.arange(len(u)), actions])
        reconstruction = F.binary_cross_entropy_with_logits(
            self.decoder(z[:, 1]), frames[:, -1], reduction="sum"
        )
        transition = -log_density(y[:, 1], prior, config.prior_temperature).sum()
        entropy = -log_density(y[:, 1], posterior[:, 1], config.posterior_temperature).sum()
        total: Tensor = config.reconstruction_weight * reconstruction + transition - entropy
        return total / len(u)


def log_density(y: Tensor, location: Tensor, temperature: float) -> Tensor:
    x = location - temperature * y
    return math.log(temperature) + x - 2 * F.softplus(x)


class PlainTabulator:
    """A plain model with a plain optimiser, which starts as a copy of a tabulator."""

    def __init__(
        self,
        like: Tabulator,
        layout: torch.memory_format = torch.contiguous_format,
        compiled: bool = False,
    ) -> None:
        config = self.config = like.config
        self.model = PlainModel(like)
        with torch.no_grad():
            for mine, theirs in zip(self.model.parameters(), like.model.parameters(), strict=True):
                mine.copy_(theirs)
        set_memory_format(self.model, layout)
        self.average = copy.deepcopy(self.model.encoder) if config.ema_decay else None
        free_energy = self.model.free_energy
        self.free_energy = torch.compile(free_energy) if compiled else free_energy
        self.generator = torch.Generator().set_state(like.generator.get_state())
        self.optimiser = torch.optim.Adam(
            *(self.model.parameters(), config.learning_rate, config.betas, config.epsilon),
            foreach=False,
            fused=False,
        )

    def train(self, batch: Batch) -> float:
        """Do one step of gradient descent on the free energy of single steps, and return it."""
        frames = torch.from_numpy(batch.observations).permute(0, 1, 4, 2, 3).contiguous()
        loss = self.free_energy(
            frames.float() / 255,
            torch.from_numpy(batch.actions.astype(np.int64)),
            torch.from_numpy(batch.first),
            torch.rand(len(frames), 2, self.config.n_bits, generator=self.generator),
        )
        self.optimiser.zero_grad()
        torch.autograd.backward(loss)
        parameters = list(self.model.parameters())
        if self.config.max_gradient_norm is not None:
            nn.utils.clip_grad_norm_(parameters, self.config.max_gradient_norm, foreach=False)
        self.optimiser.step()
        if self.average is not None:
            with torch.no_grad():
                for old, new in zip(
                    self.average.parameters(), self.model.encoder.parameters(), strict=True
                ):
                    old.mul_(self.config.ema_decay).add_(new, alpha=1 - self.config.ema_decay)
        return loss.item()
