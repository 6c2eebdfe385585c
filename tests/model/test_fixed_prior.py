"""A VAE's fixed prior instead of the learned transitions, for comparison."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.model.test_free_energy import log_p
from tests.model.worlds import SMALL, batch, seeded, tabulator
from vast.errors import UserError
from vast.model import ModelConfig
from vast.model.config import EstimatorName

FIXED = ModelConfig(n_bits=5, network=SMALL, prior="fixed", learning_rate=0.01)


def test_the_free_energy_is_that_of_a_prior_of_one_half_for_every_bit() -> None:
    tab = tabulator(FIXED, dtype=torch.float64)
    data = tab._tensors_of(batch(np.random.default_rng(1), rows=12))
    first = data[2]
    assert 0 < first.sum() < 12
    with torch.no_grad():
        _, terms, posterior, _ = tab.model(*data, seeded(3))
        u = torch.rand(posterior.shape, generator=seeded(3), dtype=torch.float64)
        y = ((posterior + u.log() - (1 - u).log()) / (2 / 3))[:, 1].numpy()
    # logits of 0 at the prior's temperature, whatever came before
    prior = log_p(y, np.zeros_like(y), 1 / 2)
    assert terms.transition.item() == pytest.approx(-prior.sum() / 12)
    total = terms.reconstruction + terms.transition - terms.entropy
    assert terms.free_energy.item() == pytest.approx(total.item())


@pytest.mark.parametrize("name", ["straight-through", "score-function"])
def test_a_binary_code_costs_one_bit_per_bit(name: EstimatorName) -> None:
    tab = tabulator(replace(FIXED, estimator=name))
    terms = tab.train(batch(np.random.default_rng(0)))
    assert terms.transition == pytest.approx(5 * math.log(2), rel=1e-6)


@pytest.mark.parametrize("name", ["concrete", "straight-through", "score-function"])
def test_transitions_get_no_gradient_and_the_rest_learns(name: EstimatorName) -> None:
    tab = tabulator(replace(FIXED, estimator=name))
    unused = {"transitions", "initial"}
    before = {name: p.detach().clone() for name, p in tab.model.named_parameters()}
    data = batch(np.random.default_rng(0))
    energies = [tab.train(data).free_energy for _ in range(200)]
    for name_, parameter in tab.model.named_parameters():
        if name_.split(".")[0] in unused:
            assert parameter.grad is None
            assert torch.equal(parameter, before[name_])
        else:
            assert not torch.equal(parameter, before[name_])
    assert np.mean(energies[-20:]) < np.mean(energies[:20]) - 1


def test_the_prior_alone_makes_the_difference() -> None:
    data = batch(np.random.default_rng(0))
    fixed, learned = (
        tabulator(replace(FIXED, prior=prior)).train(data) for prior in ("fixed", "learned")
    )
    assert fixed.reconstruction == learned.reconstruction
    assert fixed.entropy == learned.entropy
    assert fixed.transition != learned.transition


def test_it_is_saved_and_goes_on_bit_for_bit() -> None:
    data = batch(np.random.default_rng(0))
    one, other = tabulator(FIXED), tabulator(FIXED, seed=1)
    one.train(data)
    other.load_state_dict(one.state_dict())
    assert one.train(data) == other.train(data)


def test_another_prior_is_refused_in_one_line() -> None:
    with pytest.raises(UserError, match="prior 'none': must be one of"):
        ModelConfig(prior="none")  # type: ignore[arg-type]
