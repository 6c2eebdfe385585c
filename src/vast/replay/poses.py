"""The pose beside each frame, as the environment's `info` gives it: for analysis only.

The agent never sees poses: nothing is sampled from them and no state depends on them. A pose is
stored, evicted and saved together with its frame, and never changes.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vast.replay.ring import Numbers, Ring
from vast.replay.state_checks import as_array, require

Pose = tuple[float, float, float]
"""x, y, and the heading in degrees; nan for what is unknown"""
POSE_BYTES = 3 * 8
SAVED_AS = "frames_poses"
"""the name in a saved piece of frames; left out where no frame has a pose"""


def as_pose(pose: Sequence[float] | None) -> Pose | None:
    """Return a pose as three floats; ValueError if it is not None or three numbers."""
    if pose is None:
        return None
    try:
        x, y, heading = pose
        return float(x), float(y), float(heading)
    except (TypeError, ValueError):
        raise ValueError(f"pose must be (x, y, heading in degrees) or None, got {pose!r}") from None


class Poses:
    """Poses by slot; the array is allocated when the first pose is given."""

    def __init__(self, ring: Ring) -> None:
        self._ring = ring
        self._poses: NDArray[np.float64] | None = None

    def write(self, number: int, pose: Pose | None) -> None:
        """Store the checked pose of a frame, or that there is none."""
        if pose is not None:
            self._allocated()[self._ring.slot(number)] = pose
        elif self._poses is not None:
            self._poses[self._ring.slot(number)] = np.nan

    def read(self, numbers: Numbers) -> NDArray[np.float64]:
        """Return the poses of stored frames, [n, 3]; nan where no pose was given."""
        if self._poses is None:
            return np.full((len(numbers), 3), np.nan)
        return self._poses[self._ring.slot(numbers)]

    def pack(self, numbers: Numbers) -> dict[str, NDArray[np.float64]]:
        """Return the poses of these frames for saving; nothing if they have none."""
        poses = self.read(numbers)
        return {} if np.isnan(poses).all() else {SAVED_AS: poses}

    def unpack(self, packed: Mapping[str, Any], keep: slice, numbers: Numbers, count: int) -> None:
        """Store the part `keep` of the poses of `count` frames; older versions saved none."""
        if SAVED_AS in packed:
            poses = as_array(packed, SAVED_AS, np.dtype(np.float64))
            require(poses.shape == (count, 3), SAVED_AS)
            self._allocated()[self._ring.slot(numbers)] = poses[keep]
        elif self._poses is not None:
            self._poses[self._ring.slot(numbers)] = np.nan

    def _allocated(self) -> NDArray[np.float64]:
        if self._poses is None:
            self._poses = np.full((self._ring.capacity, 3), np.nan)
        return self._poses
