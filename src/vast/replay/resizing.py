"""Observations resized before they are stored, which saves memory and time.

Averaging by area keeps how bright an image is; the maximum keeps what is small and bright.
"""

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vast.errors import UserError

Pooling = Literal["mean", "max"]


def area_weights(n: int, m: int) -> NDArray[np.float64]:
    """Return [m, n] weights that average n pixels into m, weighted by their overlap."""
    edges = np.arange(m + 1) * (n / m)
    pixels = np.arange(n)
    low = np.maximum(edges[:-1, None], pixels)
    high = np.minimum(edges[1:, None], pixels + 1)
    weights: NDArray[np.float64] = np.maximum(high - low, 0) * (m / n)
    return weights


def covered(n: int, m: int) -> NDArray[np.int64]:
    """Return [m, w] indices: of n pixels, those that each of m larger ones overlaps.

    The smaller sets are filled up with their last pixel.
    """
    first = np.arange(m) * n // m
    last = (np.arange(1, m + 1) * n - 1) // m
    width = (last - first).max() + 1
    return np.minimum(first[:, None] + np.arange(width), last[:, None])


class Resizer:
    """Resizes an environment's observations, of this shape, to the size in which they are stored.

    `size` is (rows, columns) of a stored image; None leaves observations unchanged. A stored pixel
    is the mean, weighted by area, or the maximum of the pixels that it covers. Pixels stay uint8.
    """

    def __init__(
        self, shape: tuple[int, ...], size: tuple[int, int] | None, pooling: Pooling = "mean"
    ) -> None:
        self.shape = tuple(shape)
        """the shape of a stored observation"""
        self._size, self._pooling = size, pooling
        if size is None:
            return
        if len(shape) != 3:
            raise UserError(f"resize must be None unless observations are images, got {size}")
        height, width, channels = shape
        if not (1 <= size[0] <= height and 1 <= size[1] <= width):
            raise UserError(f"resize must be between (1, 1) and ({height}, {width}), got {size}")
        self.shape = (*size, channels)
        if pooling == "max":
            self._covered = covered(height, size[0]), covered(width, size[1])
            return
        self._rows = area_weights(height, size[0]).astype(np.float32)
        self._columns = area_weights(width, size[1]).astype(np.float32)

    def __call__(self, observation: ArrayLike) -> NDArray[Any]:
        """Return one observation, resized."""
        full = np.asarray(observation)
        if self._size is None:
            return full
        if self._pooling == "max":
            rows, columns = self._covered
            largest: NDArray[Any] = full[rows].max(1)[:, columns].max(2)
            return largest
        height, width, channels = full.shape
        flat = self._rows @ full.reshape(height, -1).astype(np.float32)
        small = self._columns @ flat.reshape(-1, width, channels)
        rounded: NDArray[np.uint8] = (small + np.float32(0.5)).astype(np.uint8)
        return rounded
