"""The frames that an agent or a policy currently sees."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from vast.errors import UserError
from vast.replay.resizing import Pooling, Resizer


class FrameStack:
    """The last k + 1 frames of an episode, oldest first, blank (zero) before its start.

    Images are shrunk to `resize` as they arrive, unless it is None, by `pooling`.
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        dtype: DTypeLike,
        history: int,
        resize: tuple[int, int] | None = None,
        pooling: Pooling = "mean",
    ) -> None:
        self._expected = tuple(shape), np.dtype(dtype)
        self._resizer = Resizer(tuple(shape), resize, pooling)
        self._frames = np.zeros((history + 1, *self._resizer.shape), dtype)

    def begin(self, observation: ArrayLike) -> None:
        """Start an episode with its first frame."""
        self._frames = np.zeros_like(self._frames)
        self.push(observation)

    def push(self, observation: ArrayLike) -> None:
        """Append the next frame, and drop the oldest."""
        full = np.asarray(observation)
        shape, dtype = self._expected
        if full.dtype != dtype and full.dtype.kind == dtype.kind == "f":
            full = full.astype(dtype)  # Gymnasium's own environments are not always exact
        if (full.shape, full.dtype) != self._expected:
            raise UserError(
                f"observation must have shape {shape} and type {dtype}, "
                f"got shape {full.shape} and type {full.dtype}"
            )
        if dtype.kind == "f" and not np.isfinite(full).all():
            # One such number would spread to every weight of a network.
            raise UserError(f"observation must be finite, got {full[~np.isfinite(full)][0]}")
        self._frames = np.concatenate([self._frames[1:], self._resizer(full)[None]])

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one frame, after resizing."""
        return self._resizer.shape

    @property
    def history(self) -> NDArray[Any]:
        """The frames, [k + 1, *shape]; must not be written to."""
        return self._frames

    @property
    def newest(self) -> NDArray[Any]:
        """The current frame."""
        newest: NDArray[Any] = self._frames[-1]
        return newest

    def load(self, frames: ArrayLike) -> None:
        """Restore saved frames."""
        array = np.asarray(frames)
        if array.shape != self._frames.shape or array.dtype != self._frames.dtype:
            raise ValueError(
                f"saved agent: frames must be {self._frames.dtype}{list(self._frames.shape)}, "
                f"got {array.dtype}{list(array.shape)}"
            )
        self._frames = array.copy()
