"""Fixed Gaussian projections of what is seen: the codes of LSH, the keys of MFEC."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Projection:
    """Projects onto directions whose entries are drawn from N(0, 1) once (paper, section 3.1).

    The products with one observation are always taken in the same order, so that what was seen
    before is projected to the same numbers, to the last bit.
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        history: int,
        width: int,
        constant: float,
        seed: np.random.SeedSequence,
    ) -> None:
        """Draw `width` directions; a `constant` other than 0 is appended to what is seen."""
        self.constant = constant
        inputs = (history + 1) * math.prod(shape) + (constant != 0)
        self.directions = np.random.default_rng(seed).standard_normal((width, inputs), np.float32)

    def __call__(self, seen: NDArray[Any]) -> NDArray[np.float32]:
        """Return the [width] products with what is seen, bytes scaled to [0, 1]."""
        x = seen.ravel().astype(np.float32)
        if seen.dtype == np.uint8:
            x /= 255
        if self.constant != 0:
            x = np.append(x, np.float32(self.constant))
        products: NDArray[np.float32] = self.directions @ x
        return products

    def load(self, directions: NDArray[np.float32]) -> None:
        """Project onto saved directions."""
        if directions.shape != self.directions.shape or directions.dtype != self.directions.dtype:
            raise ValueError(
                f"saved agent: projections are {directions.dtype}{list(directions.shape)}, "
                f"here they are {self.directions.dtype}{list(self.directions.shape)}"
            )
        self.directions = np.array(directions)
