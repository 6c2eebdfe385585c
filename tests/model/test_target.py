"""What is reconstructed beside the current frame, and how much each pixel counts."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from tests.model.worlds import SMALL, SMALL_CONV, batch, observations, seeded, tabulator
from vast.errors import UserError
from vast.model import Batch, ModelConfig, NetworkConfig
from vast.model.config import TargetConfig
from vast.model.model import Evaluation
from vast.model.target import Target

SHAPE = (6, 8, 1)


def spread_by_hand(image: NDArray[np.float64], sigma: float) -> NDArray[np.float64]:
    """Every pixel's maximum over all others, times the Gaussian of their distance."""
    rows, columns = np.indices(image.shape)
    spread = np.zeros_like(image)
    for y, x in np.ndindex(image.shape):
        gaussian = np.exp(-((rows - y) ** 2 + (columns - x) ** 2) / (2 * sigma**2))
        near = (abs(rows - y) <= np.ceil(3 * sigma)) & (abs(columns - x) <= np.ceil(3 * sigma))
        spread[y, x] = (image * gaussian * near).max()
    return spread


def test_bright_pixels_spread_as_computed_by_hand() -> None:
    frames = np.random.default_rng(0).uniform(size=(3, 2, 6, 8)) ** 8
    target = Target((2, 6, 8), TargetConfig(spread=0.8))(torch.from_numpy(frames)).numpy()
    for one, other in zip(target.reshape(-1, 6, 8), frames.reshape(-1, 6, 8), strict=True):
        np.testing.assert_allclose(one, spread_by_hand(other, 0.8))


def test_without_options_the_target_is_the_frame() -> None:
    frames = torch.rand(3, 1, 6, 8, generator=seeded())
    target = Target((1, 6, 8), TargetConfig())
    assert torch.equal(target(frames), frames)
    assert target.weights is None
    assert not target.state_dict()


def test_a_pixel_weighs_more_the_less_it_varies_but_not_without_limit() -> None:
    rng = np.random.default_rng(0)
    amplitude = np.concatenate([np.geomspace(0.1, 1, 47), [0.0]]).reshape(1, 6, 8)
    frames = torch.from_numpy(amplitude * rng.integers(0, 2, (4000, 1, 6, 8)))
    variance = frames.var(0, correction=0)
    for x in (-0.5, 0.5, 1.0):
        target = Target((1, 6, 8), TargetConfig(weighting=x)).double()
        target.fit(frames)
        assert target.weights is not None
        # twice the variance weighs 2^-x as much, and the mean cost stays what it was
        product = target.weights * variance**x
        torch.testing.assert_close(product[variance > 0], product[0, 2, 4].expand(47))
        assert torch.isclose((target.weights * variance).mean(), variance.mean())
        most, least = target.weights.max(), target.weights.min()
        assert target.weights[0, 5, 7] == (most if x > 0 else least)
        assert 0 < least < most < torch.inf
    still = Target((1, 6, 8), TargetConfig(weighting=1.0))
    still.fit(torch.ones(5, 1, 6, 8))
    assert still.weights is not None
    assert torch.equal(still.weights, torch.ones(1, 6, 8))


@pytest.mark.parametrize("network", [SMALL, SMALL_CONV])
def test_the_loss_counts_the_earlier_frame_and_the_weights(network: NetworkConfig) -> None:
    """Against the decoder's output, pixel by pixel, with an episode that begins in a segment."""
    options = TargetConfig(past=2, weighting=0.5)
    config = ModelConfig(n_bits=5, history=2, network=network, standardise=True, target=options)
    tab = tabulator(config, dtype=torch.float64)
    model, rng = tab.model, np.random.default_rng(1)
    tab.fit_standardisation(observations(rng, (50,), SHAPE))
    data = batch(rng, history=2, rows=4, length=3)
    data = data._replace(trained=np.ones((4, 3), bool))
    data.first[:] = False
    data.first[0, 1] = True  # of segment 0, the second step begins an episode
    tensors = tab._tensors_of(data)
    with torch.no_grad():
        terms = model(*tensors, seeded(3)).terms
        logits = model.posterior(model.encoder_inputs(tensors[0], tensors[2]))
        u = torch.rand(logits.flatten(0, 1).shape, generator=seeded(3), dtype=torch.float64)
        y = (logits.flatten(0, 1) + u.log() - (1 - u).log()) / config.posterior_temperature
        expected = torch.sigmoid(model.decoder(y.sigmoid())).reshape(4, 4, 2, 6, 8).numpy()
    assert model.target.weights is not None
    w = model.target.weights.numpy()
    total = 0.0
    for b in range(4):
        for step in range(3):
            now = data.observations[b, 3 + step, :, :, 0] / 255
            # 2 frames earlier, unless the episode began after that
            age = {0: 9, 1: 0, 2: 1}[step] if b == 0 else 9
            before = data.observations[b, 1 + step, :, :, 0] / 255 if age >= 2 else 0 * now
            o, p = np.stack([now, before]), expected[b, step + 1]
            total += -(w * (o * np.log(p) + (1 - o) * np.log(1 - p))).sum()
    assert terms.reconstruction.item() == pytest.approx(total / 12, rel=1e-6)


@pytest.mark.parametrize("network", [SMALL, SMALL_CONV])
def test_a_state_is_decoded_as_the_current_frame_only(network: NetworkConfig) -> None:
    config = ModelConfig(n_bits=5, history=3, network=network, target=TargetConfig(past=3))
    tab = tabulator(config)
    assert tab.decode(np.arange(4)).shape == (4, *SHAPE)
    for name in ("decoder.dense.2.bias", "decoder.deconvolutions.3.bias"):
        if name in (parameters := dict(tab.model.named_parameters())):
            with torch.no_grad():
                parameters[name].copy_(torch.linspace(-5, 5, len(parameters[name])))
    picture = tab.decode(np.array([3]))
    assert picture.max() < 0.6  # the second half of the biases, which are bright, is not shown


def test_the_gradient_of_a_weighted_moving_target_equals_differences() -> None:
    network = replace(SMALL, mlp_hidden=(6,), transition_hidden=(4,))
    options = TargetConfig(past=1, spread=0.7, weighting=0.5)
    config = ModelConfig(n_bits=3, history=1, network=network, standardise=True, target=options)
    tab = tabulator(config, dtype=torch.float64)
    rng = np.random.default_rng(2)
    tab.fit_standardisation(observations(rng, (20,), SHAPE))
    data: Batch = batch(rng, history=1, rows=4)
    tensors = tab._tensors_of(data._replace(trained=np.ones((4, 1), bool)))

    def loss() -> torch.Tensor:
        evaluation: Evaluation = tab.model(*tensors, seeded(1))
        return evaluation.loss

    torch.autograd.backward(loss())
    for name in ("decoder.dense.2.bias", "encoder.dense.0.bias"):
        parameter = dict(tab.model.named_parameters())[name]
        assert parameter.grad is not None
        for i in (0, len(parameter) - 1):
            with torch.no_grad():
                parameter[i] += 1e-5
                above = loss()
                parameter[i] -= 2e-5
                below = loss()
                parameter[i] += 1e-5
            assert parameter.grad[i].item() == pytest.approx((above - below).item() / 2e-5, 1e-4)


def test_weights_must_be_fitted_before_training() -> None:
    options = TargetConfig(weighting=0.5)
    tab = tabulator(ModelConfig(n_bits=5, network=SMALL, standardise=False, target=options))
    rng = np.random.default_rng(0)
    with pytest.raises(RuntimeError, match=r"call fit_standardisation .*: weighting is set"):
        tab.train(batch(rng))
    tab.fit_standardisation(observations(rng, (50,), SHAPE))
    tab.train(batch(rng))


def test_options_that_cannot_be_are_refused() -> None:
    with pytest.raises(UserError, match="past of the target must be at most 1, the history, got 2"):
        ModelConfig(history=1, target=TargetConfig(past=2))
    with pytest.raises(UserError, match="must be 0 unless frames are images"):
        Target((4,), TargetConfig(spread=1.0))
    with pytest.raises(UserError, match="weighting must be finite, got nan"):
        TargetConfig(weighting=float("nan"))
