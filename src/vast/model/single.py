"""An MLP encoder on one observation at a time, in NumPy.

To act, an agent encodes a single frame. PyTorch then spends most of the time on calling its
operators; here it takes little more than the arithmetic. The encoder's input is the same to the
last bit, and the logits differ in their rounding only: the order of summation is not that of a
product of matrices. A code can differ from that of a batch in a bit whose logit is 0 up to
rounding.
"""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from vast.model.networks import MLPEncoder
from vast.model.observations import Observations


class SingleEncoder:
    """An encoder's weights as arrays that share its memory, and so change with it."""

    def __init__(self, encoder: MLPEncoder, observations: Observations) -> None:
        layers = [layer for layer in encoder.dense if isinstance(layer, torch.nn.Linear)]
        self._layers = [(_array(layer.weight), _array(layer.bias)) for layer in layers]
        self._observations = observations
        self._mean, self._std = _array(observations.mean), _array(observations.std)
        self._encoder = encoder
        self._tensors = [*encoder.parameters(), observations.mean, observations.std]
        self._places = [tensor.data_ptr() for tensor in self._tensors]

    def is_of(self, encoder: torch.nn.Module) -> bool:
        """Tell whether it is the one of this encoder, whose memory may have moved."""
        places = [tensor.data_ptr() for tensor in self._tensors]
        return self._encoder is encoder and self._places == places

    def logits(self, history: NDArray[Any]) -> NDArray[np.float32]:
        """Return the logits [d] of a frame after the k before it, [k + 1, *shape]."""
        x = history.astype(np.float32)
        if self._observations.is_image:
            x = np.moveaxis(x, -1, 1) / np.float32(255)
        if self._observations.standardise:
            x = (x - self._mean) / self._std
        x = x.reshape(-1)
        *hidden, (weight, bias) = self._layers
        for w, b in hidden:
            x = np.maximum(w @ x + b, 0)
        logits: NDArray[np.float32] = weight @ x + bias
        return logits


def single_encoder(encoder: torch.nn.Module, observations: Observations) -> SingleEncoder | None:
    """Return the encoder for single observations; None if NumPy has no part in it."""
    weights = next(encoder.parameters())
    in_numpy = weights.device.type == "cpu" and weights.dtype == torch.float32
    if not isinstance(encoder, MLPEncoder) or not in_numpy:
        return None
    return SingleEncoder(encoder, observations)


class SingleEncoders:
    """Encoders for single observations; the last one is kept until another one is asked for."""

    def __init__(self, observations: Observations) -> None:
        self._observations = observations
        self._last: SingleEncoder | None = None

    def of(self, encoder: torch.nn.Module) -> SingleEncoder | None:
        """Return `single_encoder` of an encoder."""
        if self._last is None or not self._last.is_of(encoder):
            self._last = single_encoder(encoder, self._observations)
        return self._last


def _array(tensor: torch.Tensor) -> NDArray[np.float32]:
    array: NDArray[np.float32] = tensor.detach().numpy()
    return array
