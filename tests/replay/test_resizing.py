"""Images are resized exactly, by area or by maximum, and invalid sizes are refused."""

import math
from typing import get_args

import numpy as np
import pytest

from vast.errors import UserError
from vast.replay.resizing import Pooling, Resizer, area_weights

POOLINGS: tuple[Pooling, ...] = get_args(Pooling)


@pytest.mark.parametrize(("n", "m"), [(60, 15), (61, 17), (7, 7), (5, 1)])
def test_resizing_averages_by_area(n: int, m: int) -> None:
    fine = np.repeat(np.arange(n, dtype=float), m)  # every pixel cut into m pieces
    np.testing.assert_allclose(area_weights(n, m) @ np.arange(n), fine.reshape(m, n).mean(1))


def test_an_image_is_resized_in_rows_and_columns_and_rounded() -> None:
    image = np.random.default_rng(0).integers(0, 256, (60, 80, 3), dtype=np.uint8)
    small = Resizer((60, 80, 3), (15, 20))(image)
    assert small.dtype == np.uint8
    blocks = image.reshape(15, 4, 20, 4, 3).mean((1, 3))
    assert np.abs(small - blocks).max() <= 0.5 + 1e-4
    assert Resizer((60, 80, 3), (15, 20))(np.full((60, 80, 3), 255, np.uint8)).min() == 255


def test_an_invalid_size_is_refused() -> None:
    for shape, size in (((60, 80, 3), (90, 20)), ((60, 80, 3), (0, 20)), ((4,), (2, 2))):
        with pytest.raises(UserError, match="resize"):
            Resizer(shape, size)


@pytest.mark.parametrize("size", [(15, 20), (17, 23), (60, 80), (1, 1)])
def test_a_pooled_pixel_is_the_largest_of_those_it_covers(size: tuple[int, int]) -> None:
    image = np.random.default_rng(0).integers(0, 256, (60, 80, 2), dtype=np.uint8)
    small = Resizer((60, 80, 2), size, "max")(image)
    assert small.shape == (*size, 2)
    assert small.dtype == np.uint8
    rows, columns = 60 / size[0], 80 / size[1]
    for y, x in np.ndindex(size):
        top, bottom = math.floor(y * rows), math.ceil((y + 1) * rows - 1e-9)
        left, right = math.floor(x * columns), math.ceil((x + 1) * columns - 1e-9)
        largest = image[top:bottom, left:right].max((0, 1))
        np.testing.assert_array_equal(small[y, x], largest)


def test_pooling_by_maximum_keeps_a_single_bright_pixel() -> None:
    image = np.zeros((84, 84, 1), np.uint8)
    image[50, 31] = 255
    by_mean, by_max = (Resizer((84, 84, 1), (21, 21), pooling)(image) for pooling in POOLINGS)
    assert by_max.max() == 255
    assert by_max.sum() == 255
    assert by_mean.max() == 16
