"""A second engine with a larger screen that follows the first, for images and videos.

Observations must not come from a larger screen, because its size changes what is drawn. The engine
is deterministic: replaying the actions of an episode reproduces it.
"""

import numpy as np
from numpy.typing import NDArray

from vast.envs.doom.engine import Engine, EngineConfig, Episode


class Camera:
    """Renders an episode: its engine replays the episode's actions when an image is requested."""

    def __init__(self, config: EngineConfig) -> None:
        self._engine = Engine(config)
        self._episode: Episode | None = None
        self._followed = 0
        self._picture: NDArray[np.uint8] | None = None

    def picture(self, episode: Episode) -> NDArray[np.uint8] | None:
        """Return an image of the current state of an episode."""
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
        """Close the camera's engine."""
        self._engine.close()
