"""The network of the baselines that have one: VaST's encoder with other outputs, and its Adam."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from vast.model import saved
from vast.model.config import NetworkConfig
from vast.model.networks import built, encoder
from vast.model.observations import Observations


class Network(nn.Module):
    """From what is seen, [B, k + 1, *shape], to [B, outputs]; weights drawn from the generator."""

    def __init__(
        self,
        shape: tuple[int, ...],
        history: int,
        outputs: int,
        config: NetworkConfig,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self.observations = Observations(shape)
        frame = self.observations.frame
        self.encoder = built(lambda: encoder(frame, history, outputs, config), generator)

    def forward(self, seen: NDArray[Any]) -> Tensor:
        """Return the outputs."""
        rows, length = seen.shape[:2]
        flat = self.observations.frames(seen.reshape(-1, *self.observations.shape))
        frames = self.observations.standardised(flat)
        outputs: Tensor = self.encoder(frames.reshape(rows, length, *frames.shape[1:]))
        return outputs

    def outputs(self, seen: NDArray[Any]) -> NDArray[np.float32]:
        """Return the outputs as an array, for acting."""
        with torch.inference_mode():
            return saved.array(self(seen))

    @torch.no_grad()
    def standardise(self, frames: NDArray[Any]) -> None:
        """Show the encoder (x - mean) / std from now on, of these [N, *shape] frames."""
        self.observations.fit(self.observations.frames(frames))
        self.observations.fitted.fill_(True)


class Adam:
    """Adam for a network, saved together with it."""

    def __init__(
        self, network: Network, learning_rate: float, betas: tuple[float, float], epsilon: float
    ) -> None:
        self.network = network
        self._adam = torch.optim.Adam(network.parameters(), learning_rate, betas, epsilon)

    def descend(self, loss: Tensor) -> None:
        """Do one step of gradient descent; other leaves of the loss get their gradients, too."""
        self._adam.zero_grad(set_to_none=True)
        torch.autograd.backward(loss)
        self._adam.step()

    def state_dict(self) -> dict[str, Any]:
        """Return weights and moments as plain arrays."""
        tensors = saved.tensors_of(self.network)
        arrays = {name: saved.array(tensor) for name, tensor in tensors.items()}
        return arrays | saved.pack_optimiser(self._adam, self.network)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Become what was saved; ValueError, and nothing changed, if it does not fit."""
        tensors = saved.tensors_of(self.network)
        moments = saved.expected_of_optimiser(self.network, state)
        saved.check(state, {**tensors, **moments})
        saved.copy_into(tensors, state)
        saved.copy_into(moments, state)
        saved.load_optimiser(self._adam, self.network, moments)
