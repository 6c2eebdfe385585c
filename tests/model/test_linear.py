"""The faster perceptron is linear layers with ReLU between them, and so is its gradient."""

import copy

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from tests.model.worlds import seeded
from vast.model import linear
from vast.model.networks import mlp

SHAPES = [(1, 5, 3), (2, 1, 1), (43, 32, 128, 32), (144, 900, 256, 64, 32)]
"""rows, then the sizes of the layers: products by MKL, by oneDNN, and both"""


def both(rows: int, *sizes: int) -> tuple[nn.Module, nn.Module, Tensor, Tensor]:
    """Return ours, PyTorch's in double precision with the same weights, input and weights."""
    generator = seeded(rows)
    ours = mlp(sizes)
    with torch.no_grad():
        for each in ours.parameters():
            each.normal_(std=0.2, generator=generator)
    exact = nn.Sequential(*copy.deepcopy(ours).double())
    x = torch.randn(rows, sizes[0], generator=generator)
    return ours, exact, x, torch.randn(rows, sizes[-1], generator=generator)


def assert_close(found: Tensor | None, exact: Tensor | None) -> None:
    assert found is not None
    assert exact is not None
    scale = float(exact.detach().abs().max())
    np.testing.assert_allclose(found.detach(), exact.detach(), atol=2e-6 * scale, rtol=0)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("onednn", [True, False])
def test_values_and_gradients_are_those_of_double_precision(
    shape: tuple[int, ...], onednn: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not onednn:  # as where PyTorch comes without it
        monkeypatch.setattr(linear, "ONEDNN", None)
    ours, exact, x, weights = both(*shape)
    x.requires_grad_()
    precise = x.detach().double().requires_grad_()
    y, y_exact = ours(x), exact(precise)
    assert_close(y, y_exact)
    (y * weights).sum().backward()
    (y_exact * weights.double()).sum().backward()
    assert_close(x.grad, precise.grad)
    for mine, theirs in zip(ours.parameters(), exact.parameters(), strict=True):
        assert_close(mine.grad, theirs.grad)
    with torch.no_grad():
        assert torch.equal(ours(x), y)


def test_input_without_gradient_and_without_rows() -> None:
    ours, _, x, _ = both(4, 5, 3)
    ours(x).sum().backward()
    assert x.grad is None
    assert ours(x[:0]).shape == (0, 3)


def test_the_product_of_onednn_is_used_on_this_machine() -> None:
    # Otherwise the tests above would compare PyTorch with itself.
    assert linear.ONEDNN is not None
