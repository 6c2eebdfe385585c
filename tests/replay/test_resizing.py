"""Images are resized exactly by area averaging, and invalid sizes are refused."""

import numpy as np
import pytest

from vast.errors import UserError
from vast.replay.resizing import Resizer, area_weights


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
