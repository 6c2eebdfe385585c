"""Fixed Gaussian projections: the codes of LSH, the keys of MFEC."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Projection:
    """Projects onto directions whose entries are drawn once from N(0, 1) (paper, section 3.1).

    The products with one observation are always summed in the same order, so that an observation
    seen before is projected to the same numbers, to the last bit.
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        history: int,
        width: int,
        constant: float,
        seed: np.random.SeedSequence,
    ) -> None:
        """Draw `width` directions; a `constant` other than 0 is appended to the input."""
        self.constant = constant
        inputs = (history + 1) * math.prod(shape) + (constant != 0)
        self.directions = np.random.default_rng(seed).standard_normal((width, inputs), np.float32)

    def __call__(self, history: NDArray[Any]) -> NDArray[np.float32]:
        """Return the [width] products with frames [k + 1, *shape], bytes scaled to [0, 1]."""
        x = history.ravel().astype(np.float32)
        if history.dtype == np.uint8:
            x /= 255
        if self.constant != 0:
            x = np.append(x, np.float32(self.constant))
        products: NDArray[np.float32] = self.directions @ x
        return products

    def state_dict(self) -> dict[str, Any]:
        """Return the directions."""
        return {"directions": self.directions.copy()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Project onto saved directions."""
        saved, own = state["directions"], self.directions
        if saved.shape != own.shape or saved.dtype != own.dtype:
            raise ValueError(
                f"saved agent: directions must be {own.dtype}{list(own.shape)}, "
                f"got {saved.dtype}{list(saved.shape)}"
            )
        self.directions = np.array(saved)
