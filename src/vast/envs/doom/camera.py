"""A second engine with a larger screen that follows the first, for pictures and videos.

The size of the screen changes what is drawn, so observations must not come from a larger one.
The engine is deterministic: the same episode lived through again looks and goes the same.
"""

import numpy as np
from numpy.typing import NDArray

from vast.envs.doom.engine import Engine, Episode, Setting


class Camera:
    """Films an episode: its engine catches up with the episode's actions when asked to."""

    def __init__(self, setting: Setting) -> None:
        self._engine = Engine(setting)
        self._episode: Episode | None = None
        self._followed = 0
        self._picture: NDArray[np.uint8] | None = None

    def picture(self, episode: Episode) -> NDArray[np.uint8] | None:
        """Return what the episode looks like now."""
        if episode is not self._episode:
            self._engine.begin(episode)
        else:
            for action in episode.actions[self._followed :]:
                self._engine.act(action)
        self._episode, self._followed = episode, len(episode.actions)
        seen = self._engine.look()
        if seen is not None:
            self._picture = seen[0]
        return self._picture

    def close(self) -> None:
        """End the camera's engine."""
        self._engine.close()
