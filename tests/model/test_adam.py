"""The optimiser is Adam as PyTorch has it, to the last bit."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from torch import nn

from vast.model import adam
from vast.model.adam import Adam

RATE, BETAS, EPSILON = 0.01, (0.8, 0.99), 1e-7


def networks() -> tuple[nn.Sequential, nn.Sequential]:
    """Return two networks of the same weights."""
    torch.manual_seed(0)
    one, other = (nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)) for _ in range(2))
    other.load_state_dict(one.state_dict())
    return one, other


@pytest.mark.parametrize("fused", [True, False])
def test_steps_are_those_of_pytorch(fused: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not fused:
        monkeypatch.setattr(adam, "FUSED", ())
    one, other = networks()
    ours, theirs = (
        Adam(one, RATE, BETAS, EPSILON),
        torch.optim.Adam(other.parameters(), RATE, BETAS, EPSILON, fused=fused, foreach=False),
    )
    for seed in range(5):
        x = torch.randn(6, 3, generator=torch.Generator().manual_seed(seed))
        # In some steps the last layer has no gradient: Adam then leaves it, and its moments, alone.
        losses = [(net(x) if seed % 2 else net[0](x)).square().mean() for net in (one, other)]
        ours.learning_rate = theirs.param_groups[0]["lr"] = RATE / (1 + seed)
        ours.differentiate(losses[0])
        ours.step()
        theirs.zero_grad()
        losses[1].backward()
        theirs.step()
        for a, b in zip(one.parameters(), other.parameters(), strict=True):
            assert torch.equal(a, b)
    moments = ours.tensors()
    for name, parameter in other.named_parameters():
        for moment, value in theirs.state[parameter].items():
            assert torch.equal(moments[f"optimiser/{name}/{moment}"], value), (name, moment)


def test_only_moments_of_what_had_a_gradient_are_saved_and_they_are_gone_on_from() -> None:
    one, other = networks()
    first, second = (Adam(net, RATE, BETAS, EPSILON) for net in (one, other))
    first.differentiate(one[0](torch.ones(1, 3)).sum())
    first.step()
    saved = first.state_dict()
    assert {name.split("/")[1] for name in saved} == {"0.weight", "0.bias"}
    assert second.expected(saved).keys() == saved.keys()
    second.differentiate(other(torch.ones(1, 3)).sum())
    second.step()  # moments that loading must undo
    second.load_state_dict(saved)
    for name, tensor in first.tensors().items():
        np.testing.assert_array_equal(second.tensors()[name].numpy(), tensor.numpy(), name)


@pytest.mark.slow
def test_training_does_not_load_pytorchs_compiler() -> None:
    program = """
import sys, torch
from tests.model.worlds import SMALL, batch, tabulator
from vast.model import ModelConfig
import numpy as np
tabulator(ModelConfig(n_bits=4, network=SMALL)).train(batch(np.random.default_rng(0)))
assert "torch._dynamo" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)
