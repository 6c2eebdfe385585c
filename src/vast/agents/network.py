"""The network of NEC and DDQN: VaST's encoder with other outputs, and its optimiser."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from vast.model import network_state
from vast.model.adam import Adam
from vast.model.config import NetworkConfig
from vast.model.networks import built, encoder
from vast.model.observations import Observations
from vast.model.single import SingleEncoders


class Network(nn.Module):
    """Maps histories [B, k + 1, *shape] to [B, outputs]; weights are drawn from the generator.

    They are drawn on its device, and then moved to `device`.
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        history: int,
        outputs: int,
        config: NetworkConfig,
        generator: torch.Generator,
        device: torch.device | None = None,
    ) -> None:
        super().__init__()
        self.observations = Observations(shape)
        frame = self.observations.frame
        self.encoder = built(
            lambda: encoder(frame, history, outputs, config),
            generator,
            initialisation=config.initialisation,
        )
        self.to(device or generator.device)
        self._singles = SingleEncoders(self.observations)

    def forward(self, histories: NDArray[Any]) -> Tensor:
        """Return the outputs."""
        rows, length = histories.shape[:2]
        flat = self.observations.frames(histories.reshape(-1, *self.observations.shape))
        frames = self.observations.standardised(flat)
        outputs: Tensor = self.encoder(frames.reshape(rows, length, *frames.shape[1:]))
        return outputs

    def outputs(self, histories: NDArray[Any]) -> NDArray[np.float32]:
        """Return the outputs as an array, for acting; one history is computed in NumPy."""
        if len(histories) == 1:
            single = self._singles.of(self.encoder)
            if single is not None:
                return single.logits(histories[0])[None]
        with torch.inference_mode():
            return network_state.array(self(histories))

    @torch.no_grad()
    def standardise(self, frames: NDArray[Any]) -> None:
        """Show the encoder (x - mean) / std of these [N, *shape] frames from now on."""
        self.observations.fit(self.observations.frames(frames))
        self.observations.fitted.fill_(True)


class NetworkOptimiser:
    """Adam for a network, saved together with it."""

    def __init__(
        self, network: Network, learning_rate: float, betas: tuple[float, float], epsilon: float
    ) -> None:
        self.network = network
        self._adam = Adam(network, learning_rate, betas, epsilon)

    def descend(self, loss: Tensor) -> None:
        """Do one step of gradient descent; other leaves of the loss get gradients too."""
        self._adam.differentiate(loss)
        self._adam.require_finite_gradient(loss)
        self._adam.step()

    def state_dict(self) -> dict[str, Any]:
        """Return weights and moments as plain arrays."""
        tensors = network_state.tensors_of(self.network)
        arrays = {name: network_state.array(tensor) for name, tensor in tensors.items()}
        return arrays | self._adam.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a saved state; ValueError, and nothing changed, if it does not fit."""
        tensors = network_state.tensors_of(self.network)
        moments = self._adam.expected(state)
        network_state.check(state, {**tensors, **moments})
        network_state.copy_into(tensors, state)
        self._adam.load_state_dict(state)
