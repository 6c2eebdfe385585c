"""Observations are half the engine's screen in each direction."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from vast.envs.doom.frames import shrink


@given(seed=st.integers(0, 2**32 - 1), high=st.integers(0, 255))
def test_a_pixel_is_the_mean_of_four_rounded_half_up(seed: int, high: int) -> None:
    screen = np.random.default_rng(seed).integers(0, high + 1, (120, 160, 3)).astype(np.uint8)
    blocks = screen.reshape(60, 2, 80, 2, 3).mean(axis=(1, 3))
    small = shrink(screen)
    np.testing.assert_array_equal(small, np.floor(blocks + 0.5))
    assert small.dtype == np.uint8
    assert small.flags.c_contiguous
