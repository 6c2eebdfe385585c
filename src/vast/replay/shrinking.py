"""Images shrunk by area average when they arrive: less to store, to read and to learn from."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vast.errors import UserError


def area_weights(n: int, m: int) -> NDArray[np.float64]:
    """Return [m, n] weights that average n pixels into m: each by the length it has in common."""
    edges = np.arange(m + 1) * (n / m)
    pixels = np.arange(n)
    low = np.maximum(edges[:-1, None], pixels)
    high = np.minimum(edges[1:, None], pixels + 1)
    weights: NDArray[np.float64] = np.maximum(high - low, 0) * (m / n)
    return weights


class Shrinking:
    """From observations as the environment gives them to those that are stored.

    `size` is the rows and columns of a stored image; None: as they are. Bytes stay bytes.
    """

    def __init__(self, shape: tuple[int, ...], size: tuple[int, int] | None) -> None:
        self.shape = tuple(shape)
        """of an observation as it is stored"""
        self._size = size
        if size is None:
            return
        if len(shape) != 3:
            raise UserError(f"resize {size}: allowed only for images, not for shape {shape}")
        height, width, channels = shape
        if not (1 <= size[0] <= height and 1 <= size[1] <= width):
            raise UserError(f"resize {size}: allowed is from (1, 1) to ({height}, {width})")
        self.shape = (*size, channels)
        self._rows = area_weights(height, size[0]).astype(np.float32)
        self._columns = area_weights(width, size[1]).astype(np.float32)

    def __call__(self, observation: ArrayLike) -> NDArray[Any]:
        """Return one observation, shrunk."""
        full = np.asarray(observation)
        if self._size is None:
            return full
        height, width, channels = full.shape
        flat = self._rows @ full.reshape(height, -1).astype(np.float32)
        small = self._columns @ flat.reshape(-1, width, channels)
        rounded: NDArray[np.uint8] = (small + np.float32(0.5)).astype(np.uint8)
        return rounded
