"""What an agent sees at present: the newest frame and those before it."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from vast.replay.shrinking import Shrinking


class Seen:
    """The last k + 1 frames of an episode, oldest first, blank (zero) before its start.

    Images are shrunk to `resize` when they arrive, if it is not None.
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        dtype: DTypeLike,
        history: int,
        resize: tuple[int, int] | None = None,
    ) -> None:
        self._arriving = tuple(shape), np.dtype(dtype)
        self._shrinking = Shrinking(tuple(shape), resize)
        self._frames = np.zeros((history + 1, *self._shrinking.shape), dtype)

    def begin(self, observation: ArrayLike) -> None:
        """See the first frame of an episode."""
        self._frames = np.zeros_like(self._frames)
        self.see(observation)

    def see(self, observation: ArrayLike) -> None:
        """See the next frame."""
        full = np.asarray(observation)
        if (full.shape, full.dtype) != self._arriving:
            shape, dtype = self._arriving
            raise ValueError(
                f"observation of shape {full.shape} and type {full.dtype}: "
                f"allowed is shape {shape} and type {dtype}"
            )
        self._frames = np.concatenate([self._frames[1:], self._shrinking(full)[None]])

    @property
    def shape(self) -> tuple[int, ...]:
        """Of one frame as it is seen."""
        return self._shrinking.shape

    @property
    def frames(self) -> NDArray[Any]:
        """What is seen, [k + 1, *shape]; nobody writes into it."""
        return self._frames

    def load(self, frames: ArrayLike) -> None:
        """Go back to what was seen."""
        array = np.asarray(frames)
        if array.shape != self._frames.shape or array.dtype != self._frames.dtype:
            raise ValueError(
                f"saved agent: it saw {array.dtype}{list(array.shape)}, "
                f"here it is {self._frames.dtype}{list(self._frames.shape)}"
            )
        self._frames = array.copy()
