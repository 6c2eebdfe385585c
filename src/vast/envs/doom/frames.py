"""From the engine's 160 x 120 screen to the 60 x 80 x 3 observations of the paper."""

import numpy as np
from numpy.typing import NDArray

HEIGHT, WIDTH = 60, 80
"""of an observation, in pixels"""
PIXEL = np.dtype("V3")
"""three bytes moved as one"""


def shrink(screen: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the mean of each 2 x 2 block, rounded half up: bilinear scaling by exactly one half.

    Rows are added in pairs, then each pixel to its right neighbour, over the whole flat array;
    every second pixel is the wanted one. This is four times faster than adding strided blocks.
    """
    assert screen.shape == (2 * HEIGHT, 2 * WIDTH, 3)
    rows = screen.reshape(HEIGHT, 2, 2 * WIDTH * 3)
    sums = np.add(rows[:, 0], rows[:, 1], dtype=np.uint16).reshape(-1)
    sums[:-3] += sums[3:]
    sums += 2
    sums >>= 2
    pixels = sums.astype(np.uint8).view(PIXEL).reshape(HEIGHT, 2 * WIDTH)
    return pixels[:, ::2].copy().view(np.uint8).reshape(HEIGHT, WIDTH, 3)
