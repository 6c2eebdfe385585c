"""From the engine's 160 x 120 screen to the 60 x 80 x 3 observations of the paper."""

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

HEIGHT, WIDTH = 60, 80
"""of an observation, in pixels"""

Screen = NDArray[np.uint8]


def _compiled(function: Callable[[Screen], Screen]) -> Callable[[Screen], Screen]:
    """Have Numba compile a function at its first call, and keep the result if it has where."""
    njit: Any = numba.njit
    try:
        compiled: Callable[[Screen], Screen] = njit(cache=True)(function)
    except RuntimeError:  # no folder that may be written to
        compiled = njit(function)
    return compiled


@_compiled
def shrink(screen: Screen) -> Screen:
    """Return the mean of each 2 x 2 block, rounded half up: bilinear scaling by exactly one half.

    Compiled, for NumPy needs six passes over the screen, a quarter of what the engine takes to
    draw it.
    """
    small = np.empty((HEIGHT, WIDTH, 3), np.uint8)
    for row in range(HEIGHT):
        upper, lower = screen[2 * row], screen[2 * row + 1]
        for column in range(WIDTH):
            left, right = 2 * column, 2 * column + 1
            for colour in range(3):
                total = (
                    np.uint16(upper[left, colour])
                    + np.uint16(upper[right, colour])
                    + np.uint16(lower[left, colour])
                    + np.uint16(lower[right, colour])
                )
                small[row, column, colour] = (total + 2) >> 2
    return small
