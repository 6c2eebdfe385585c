"""Shapes, grouping by action, and random numbers from one generator only."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.model.worlds import SMALL, SMALL_CONV, batch, observations, seeded, tabulator
from vast.errors import UserError
from vast.model import ModelConfig, NetworkConfig
from vast.model.networks import Conv2dSame, built, decoder, encoder
from vast.model.observations import Observations
from vast.model.transitions import TransitionNetworks

SIZES = [(60, 80, 3), (84, 84, 1), (61, 33, 2)]


@pytest.mark.parametrize("shape", SIZES)
@pytest.mark.parametrize("network", [SMALL, SMALL_CONV])
@pytest.mark.parametrize("history", [0, 3])
def test_images_of_any_size_are_reconstructed_in_their_size(
    shape: tuple[int, ...], network: NetworkConfig, history: int
) -> None:
    tab = tabulator(ModelConfig(n_bits=8, history=history, network=network), shape)
    data = batch(np.random.default_rng(0), history, shape, rows=2)
    tab.train(data)
    image = tab.reconstruct(data.observations[:, 1:])
    assert image.shape == (2, *shape)
    assert 0 <= image.min() <= image.max() <= 1


def test_the_papers_networks_have_the_papers_sizes() -> None:
    with torch.device("meta"):
        e, d = (
            encoder((3, 60, 80), 0, 32, NetworkConfig()),
            decoder((3, 60, 80), 32, NetworkConfig()),
        )
        t = TransitionNetworks(32, 3, NetworkConfig().transition_hidden)
    assert [tuple(p.shape) for p in e.parameters() if p.ndim > 1] == [
        (32, 3, 8, 8),
        (64, 32, 4, 4),
        (64, 64, 3, 3),
        (512, 64 * 8 * 10),
        (32, 512),
    ]
    assert [tuple(p.shape) for p in d.parameters() if p.ndim > 1] == [
        (256 * 4 * 5, 32),
        (256, 64, 4, 4),
        (64, 64, 4, 4),
        (64, 32, 4, 4),
        (32, 3, 4, 4),
    ]
    sizes = [tuple(p.shape) for p in t.networks[0].parameters() if p.ndim > 1]
    assert sizes == [(512, 32), (256, 512), (512, 256), (32, 512)]


@pytest.mark.parametrize(("side", "stride"), [(8, 4), (4, 2), (3, 1)])
@pytest.mark.parametrize("n", range(1, 19))
def test_same_padding_keeps_every_stride(side: int, stride: int, n: int) -> None:
    layer = Conv2dSame(1, 1, side, stride)
    assert layer(torch.zeros(1, 1, n, n + 5)).shape[2:] == (-(-n // stride), -(-(n + 5) // stride))


def test_same_padding_puts_the_odd_pixel_after() -> None:
    layer = Conv2dSame(1, 1, (1, 4), (1, 1), bias=False)
    torch.nn.init.ones_(layer.weight)
    ones = torch.ones(1, 1, 1, 6)  # one pixel of padding before, two after
    assert layer(ones).flatten().tolist() == [3, 4, 4, 4, 3, 2]


def test_grouped_transition_networks_equal_each_row_alone() -> None:
    networks = built(lambda: TransitionNetworks(6, 5, (7, 4)), seeded(), torch.float64)
    code = torch.randn(40, 6, generator=seeded(1), dtype=torch.float64)
    actions = [0] * 10 + [1] * 12 + [3] * 8 + [4] * 10
    alone = torch.cat(
        [networks.networks[a](row[None]) for a, row in zip(actions, code, strict=True)]
    )
    grouped = torch.cat(networks(code, [10, 12, 0, 8, 10]))
    torch.testing.assert_close(grouped, alone, rtol=1e-12, atol=1e-12)
    torch.autograd.backward(grouped.sum())
    taken = [next(network.parameters()).grad is not None for network in networks.networks]
    assert taken == [True, True, False, True, True]


def test_random_numbers_come_from_the_generator_alone() -> None:
    before = torch.random.get_rng_state()
    config = ModelConfig(n_bits=8, network=SMALL_CONV)
    one, same, other = (tabulator(config, seed=seed) for seed in (0, 0, 1))
    data = batch(np.random.default_rng(0))
    assert one.train(data) == same.train(data) != other.train(data)
    assert torch.equal(before, torch.random.get_rng_state())


def test_signed_codes_reach_the_decoder_as_minus_one_and_one() -> None:
    z = torch.tensor([[0.0, 0.5, 1.0]])
    for signed, wanted in ((False, [0.0, 0.5, 1.0]), (True, [-1.0, 0.0, 1.0])):
        config = ModelConfig(n_bits=3, network=replace(SMALL, signed_code=signed))
        assert tabulator(config).model.network_code(z)[0].tolist() == wanted


def test_an_image_is_scaled_to_one_with_its_channels_first() -> None:
    image = observations(np.random.default_rng(0), (2,), (15, 20, 3))
    frames = Observations((15, 20, 3)).frames(image)
    np.testing.assert_allclose(frames.numpy(), np.moveaxis(image / 255, -1, 1), atol=1e-6)


def test_mistakes_in_the_configuration_are_named() -> None:
    with pytest.raises(UserError, match="did you mean 'conv'"):
        NetworkConfig(kind="convv")  # type: ignore[arg-type]
    with pytest.raises(UserError, match="n_bits must be between 1 and 64, got 65"):
        ModelConfig(n_bits=65)
    with pytest.raises(UserError, match="kind must be 'mlp'"):
        tabulator(ModelConfig(), (4,))
