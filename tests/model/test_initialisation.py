"""Initial weights: Xavier and zero biases as in the authors' code, or PyTorch's default."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from tests.model.worlds import SMALL_CONV, seeded, tabulator
from vast.agents.registry import AGENTS
from vast.agents.vast.presets import preset
from vast.errors import UserError
from vast.model import ModelConfig, NetworkConfig, Tabulator
from vast.model.config import Initialisation
from vast.tasks import make_env

SHAPE = (60, 80, 3)


def layers(initialisation: Initialisation) -> list[nn.Linear | nn.Conv2d | nn.ConvTranspose2d]:
    network = replace(
        SMALL_CONV,
        initialisation=initialisation,
        dense=64,
        conv_channels=(16, 16, 16),
        deconv_channels=(32, 16, 16, 16),
        transition_hidden=(64, 32, 64),
    )
    model = tabulator(ModelConfig(n_bits=32, network=network), SHAPE).model
    kinds = (nn.Linear, nn.Conv2d, nn.ConvTranspose2d)
    found = [layer for layer in model.modules() if isinstance(layer, kinds)]
    assert len(found) == 5 + 5 + 3 * 4  # encoder, decoder, a transition network per action
    return found


def fans(weight: torch.Tensor) -> int:
    """Return inputs + outputs of a layer, each weighted by the filter's size."""
    return (weight.shape[0] + weight.shape[1]) * weight[0, 0].numel()


def assert_uniform(weights: torch.Tensor, bound: float) -> None:
    n = weights.numel()
    assert weights.abs().max() <= bound
    assert weights.std().item() == pytest.approx(bound / math.sqrt(3), rel=4 / math.sqrt(n))
    assert abs(weights.mean().item()) < 5 * bound / math.sqrt(3 * n)


def test_xavier_weights_are_uniform_by_inputs_and_outputs_and_biases_are_zero() -> None:
    for layer in layers("xavier"):
        assert_uniform(layer.weight, math.sqrt(6 / fans(layer.weight)))
        assert layer.bias is not None
        assert not layer.bias.any()


def test_torch_weights_and_biases_are_uniform_by_inputs() -> None:
    for layer in layers("torch"):
        bound = 1 / math.sqrt(layer.weight[0].numel())
        assert_uniform(layer.weight, bound)
        assert layer.bias is not None
        assert 0 < layer.bias.abs().max() <= bound


@pytest.mark.parametrize("agent", ["vast", "nec", "ddqn"])
def test_the_paper_is_initialised_as_published_and_cpu_as_its_records(agent: str) -> None:
    for name, wanted in (("paper", "xavier"), ("cpu", "torch"), ("debug", "torch")):
        config = AGENTS[agent].preset(name, "large-maze", SHAPE)
        network = config.model.network if agent == "vast" else config.network
        assert network.initialisation == wanted


def test_another_initialisation_is_refused_in_one_line() -> None:
    with pytest.raises(UserError, match="initialisation 'zeros': must be one of"):
        NetworkConfig(initialisation="zeros")  # type: ignore[arg-type]


@pytest.mark.slow
def test_the_papers_untrained_encoder_tells_many_frames_of_a_maze_apart() -> None:
    env, rng = make_env("large-maze"), np.random.default_rng(0)
    frames = [env.reset(seed=0)[0]]
    while len(frames) < 300:
        seen, _, terminated, truncated, _ = env.step(np.int64(rng.integers(3)))
        frames.append(env.reset()[0] if terminated or truncated else seen)
    env.close()
    model = preset("paper", "large-maze", SHAPE).model
    codes = {}
    for name in ("xavier", "torch"):
        network = replace(model.network, initialisation=name)
        tab = Tabulator(SHAPE, 3, replace(model, network=network), seeded())
        codes[name] = len(np.unique(tab.encode(np.array(frames))))
    # so that the burn-in's table is not a handful of states
    assert codes["xavier"] > 100
    assert codes["torch"] < 30
