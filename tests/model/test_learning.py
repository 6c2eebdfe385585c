"""Training does what it is for, and the options what they say."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.model.worlds import SMALL, batch, observations, tabulator
from vast.model import Batch, ModelConfig, NetworkConfig

SHAPE = (6, 8, 1)


LEARNING_CONV = NetworkConfig(
    conv_channels=(8, 8, 8), dense=32, deconv_channels=(16, 8, 8, 8), transition_hidden=(16,)
)


def few_images(rng: np.random.Generator, n: int = 5) -> Batch:
    """A walk round a ring of n black and white images, by action 0; the first begins an episode."""
    coarse = 255 * rng.integers(0, 2, (n, 4, 5, 1), np.uint8)
    images = coarse.repeat(4, 1).repeat(4, 2)
    pairs = np.stack([images[np.arange(-1, n - 1)], images], 1)
    return Batch(pairs, np.zeros(n, np.int64), np.arange(n) == 0)


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))]
)
@pytest.mark.parametrize(
    ("network", "ema_decay", "steps"),
    [
        (SMALL, 0.0, 400),
        (SMALL, 0.9, 400),
        pytest.param(LEARNING_CONV, 0.0, 600, marks=pytest.mark.slow),
    ],
)
def test_training_lowers_the_free_energy_and_tells_images_apart(
    network: NetworkConfig, ema_decay: float, steps: int, seed: int
) -> None:
    config = ModelConfig(n_bits=8, network=network, learning_rate=3e-3, ema_decay=ema_decay)
    tab = tabulator(config, (16, 20, 1), seed)
    data = few_images(np.random.default_rng(seed))
    # Each image 8 times: from one Concrete sample of each, gradients are so noisy that two images
    # may stay together.
    rows = np.arange(5).repeat(8)
    often = Batch(data.observations[rows], data.actions[rows], data.first[rows])
    energies = [tab.train(often).free_energy for _ in range(steps)]
    assert np.mean(energies[-20:]) < np.mean(energies[:20]) / 2
    images = data.observations[:, 1]
    assert len(set(tab.encode(images).tolist())) == 5
    distance = np.abs(tab.reconstruct(images)[:, None] - images[None] / 255).mean((2, 3, 4))
    assert (distance.argmin(1) == np.arange(5)).all()


@pytest.mark.parametrize(
    ("learned", "standardise"),
    [
        (True, True),
        pytest.param(True, False, marks=pytest.mark.slow),
        pytest.param(False, True, marks=pytest.mark.slow),
        pytest.param(False, False, marks=pytest.mark.slow),
    ],
)
def test_vectors_are_told_apart_and_reconstructed(learned: bool, standardise: bool) -> None:
    rng = np.random.default_rng(0)
    points = np.array([[-1, -1], [1, -1], [-1, 1], [1, 1]], np.float32)
    if standardise:  # far from 0, raw coordinates would hardly be told apart
        points[:, 1] += 11
    network = replace(SMALL, learned_vector_scale=learned, mean_output_bias=True)
    config = ModelConfig(n_bits=6, network=network, learning_rate=3e-3, standardise=standardise)
    tab = tabulator(config, (2,))
    tab.fit_standardisation(points)
    scale = tab.model.log_scale.detach().clone()
    for _ in range(400):
        at = rng.integers(0, 4, (16, 2))
        tab.train(Batch(points[at], np.zeros(16, np.int64), np.zeros(16, np.bool_)))
    assert len(set(tab.encode(points).tolist())) == 4
    np.testing.assert_allclose(tab.reconstruct(points), points, atol=0.5)
    assert torch.equal(tab.model.log_scale, scale) != learned


def test_the_encoder_for_tabulation_is_a_moving_average() -> None:
    config = ModelConfig(n_bits=8, network=SMALL, ema_decay=0.75, learning_rate=1e-2)
    tab, data = tabulator(config), batch(np.random.default_rng(0))
    wanted = [p.detach().clone() for p in tab.model.encoder.parameters()]
    for _ in range(3):
        tab.train(data)
        for mean, new in zip(wanted, tab.model.encoder.parameters(), strict=True):
            mean.copy_(0.75 * mean + 0.25 * new.detach())
    assert tab._average is not None
    for mean, mine in zip(wanted, tab._average.parameters(), strict=True):
        torch.testing.assert_close(mine.detach(), mean)
    _, keys = tab.train_and_encode(data)
    np.testing.assert_array_equal(keys[:, 1], tab.encode(data.observations[:, 1]))


def test_states_of_a_training_step_are_those_before_it() -> None:
    config = ModelConfig(n_bits=32, network=SMALL, learning_rate=0.1)
    tab, data = tabulator(config), batch(np.random.default_rng(0))
    before = tab.encode(data.observations.reshape(-1, *SHAPE)).reshape(8, 2)
    _, keys = tab.train_and_encode(data)
    np.testing.assert_array_equal(keys, before)
    assert (tab.encode(data.observations[:, 1]) != before[:, 1]).any()


def test_the_learning_rate_falls_linearly_then_stays() -> None:
    config = ModelConfig(learning_rate=1.0, final_learning_rate=0.2, learning_rate_steps=4)
    rates = [config.learning_rate_at(step) for step in (0, 1, 2, 4, 9)]
    assert rates == pytest.approx([1.0, 0.8, 0.6, 0.2, 0.2])
    assert ModelConfig().learning_rate_at(10**6) == 2e-4
    tab = tabulator(replace(config, n_bits=4, network=SMALL))
    for _ in range(3):
        tab.train(batch(np.random.default_rng(0)))
    assert tab._optimiser.learning_rate == pytest.approx(0.6)


def test_long_gradients_are_cut() -> None:
    data = batch(np.random.default_rng(0))
    norms = []
    for longest in (None, 1.0):
        tab = tabulator(ModelConfig(n_bits=4, network=SMALL, max_gradient_norm=longest))
        tab.train(data)
        gradients = [p.grad.flatten() for p in tab.model.parameters() if p.grad is not None]
        norms.append(torch.cat(gradients).norm().item())
    assert norms[0] > 1.5
    assert norms[1] == pytest.approx(1, rel=1e-4)


def test_standardised_input_has_mean_zero_and_spread_one_and_is_frozen() -> None:
    frames = observations(np.random.default_rng(0), (50,), SHAPE) // 4
    network = replace(SMALL, mean_output_bias=True, mlp_hidden=())
    tab = tabulator(ModelConfig(n_bits=4, network=network, standardise=True))
    with pytest.raises(RuntimeError, match="fit_standardisation before"):
        tab.train(batch(np.random.default_rng(0)))
    tab.fit_standardisation(frames)
    sees = tab.model.observations
    x = sees.standardised(sees.frames(frames))
    assert x.mean(0).abs().max() < 1e-5
    assert x.square().mean().item() == pytest.approx(1, rel=1e-4)
    with torch.no_grad():  # what the bias alone says
        mean = dict(tab.model.decoder.named_parameters())["dense.0.bias"].sigmoid()
    np.testing.assert_allclose(mean, frames.mean(0).flatten() / 255, atol=1e-5)
    with pytest.raises(RuntimeError, match="once"):
        tab.fit_standardisation(frames)


def test_an_invalid_batch_raises_an_error_that_says_what_it_must_be() -> None:
    tab = tabulator(ModelConfig(n_bits=4, network=SMALL))
    data = batch(np.random.default_rng(0))
    with pytest.raises(ValueError, match="actions must be between 0 and 2, got 3"):
        tab.train(data._replace(actions=data.actions + 3 - data.actions))
    with pytest.raises(ValueError, match="history 0"):
        tab.train(data._replace(observations=data.observations[:, :1]))
    with pytest.raises(ValueError, match="uint8"):
        tab.train(data._replace(observations=data.observations.astype(np.float32)))
    with pytest.raises(ValueError, match="booleans"):
        tab.train(data._replace(first=data.first.astype(np.int64)))
    assert tab.steps == 0


def test_nothing_to_encode_gives_nothing() -> None:
    tab = tabulator(ModelConfig(n_bits=4, network=SMALL))
    assert tab.encode(np.empty((0, *SHAPE), np.uint8)).shape == (0,)
    assert tab.decode(np.empty(0, np.uint64)).shape == (0, *SHAPE)


def test_many_observations_are_encoded_as_few_are() -> None:
    tab = tabulator(ModelConfig(n_bits=16, network=SMALL), dtype=torch.float64)
    many = observations(np.random.default_rng(0), (1100,), SHAPE)
    parts = [tab.encode(part) for part in np.array_split(many, 7)]
    np.testing.assert_array_equal(tab.encode(many), np.concatenate(parts))
