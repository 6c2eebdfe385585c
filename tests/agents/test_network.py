"""The network of NEC and DDQN: one observation through NumPy, many through PyTorch."""

import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from tests.model.worlds import SMALL_CONV, observations
from vast.agents.network import Network, NetworkOptimiser
from vast.model.config import NetworkConfig

PERCEPTRON = NetworkConfig(kind="mlp", mlp_hidden=(32, 16))


def network(shape: tuple[int, ...], history: int, config: NetworkConfig = PERCEPTRON) -> Network:
    return Network(shape, history, 5, config, torch.Generator().manual_seed(0))


def torch_outputs(net: Network, histories: Any) -> Any:
    with torch.inference_mode():
        return net(histories).numpy()


@pytest.mark.parametrize("shape", [(6, 8, 3), (4,)])
@pytest.mark.parametrize("history", [0, 2])
@pytest.mark.parametrize("hidden", [(32, 16), ()])
def test_one_observation_has_the_outputs_that_it_has_among_many(
    shape: tuple[int, ...], history: int, hidden: tuple[int, ...]
) -> None:
    rng = np.random.default_rng(0)
    net = network(shape, history, replace(PERCEPTRON, mlp_hidden=hidden))
    histories = observations(rng, (7, history + 1), shape)
    for standardised in (False, True):
        if standardised:
            net.standardise(observations(rng, (20,), shape))
        wanted = torch_outputs(net, histories)
        for one, theirs in zip(histories, wanted, strict=True):
            mine = net.outputs(one[None])
            assert mine.shape == (1, 5)
            assert mine.dtype == np.float32
            np.testing.assert_allclose(mine[0], theirs, rtol=1e-5, atol=1e-6)


def test_acting_follows_training_and_a_copy_does_not() -> None:
    rng = np.random.default_rng(0)
    net = network((6, 8, 3), 0)
    optimiser = NetworkOptimiser(net, 0.01, (0.9, 0.999), 1e-8)
    seen = observations(rng, (1, 1), (6, 8, 3))
    before, target = net.outputs(seen), copy.deepcopy(net)
    for _ in range(5):
        optimiser.descend(net(seen).square().sum())
    after = net.outputs(seen)
    assert np.abs(after).sum() < np.abs(before).sum()
    np.testing.assert_allclose(after, torch_outputs(net, seen), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(target.outputs(seen), before)


def test_convolutions_are_left_to_torch() -> None:
    net = network((9, 7, 2), 1, SMALL_CONV)
    seen = observations(np.random.default_rng(0), (1, 2), (9, 7, 2))
    np.testing.assert_array_equal(net.outputs(seen), torch_outputs(net, seen))
