"""What an agent sees at present: the newest frame and those before it."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray


class Seen:
    """The last k + 1 frames of an episode, oldest first, blank (zero) before its start."""

    def __init__(self, shape: tuple[int, ...], dtype: DTypeLike, history: int) -> None:
        self._frames = np.zeros((history + 1, *shape), dtype)

    def begin(self, observation: ArrayLike) -> None:
        """See the first frame of an episode."""
        self._frames = np.zeros_like(self._frames)
        self.see(observation)

    def see(self, observation: ArrayLike) -> None:
        """See the next frame."""
        frame = np.asarray(observation)
        if frame.shape != self._frames.shape[1:] or frame.dtype != self._frames.dtype:
            raise ValueError(
                f"observation of shape {frame.shape} and type {frame.dtype}: allowed is "
                f"shape {self._frames.shape[1:]} and type {self._frames.dtype}"
            )
        self._frames = np.concatenate([self._frames[1:], frame[None]])

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
