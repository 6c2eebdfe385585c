"""The free energy, against NumPy written from the paper, and its gradient against differences."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from tests.model.worlds import SMALL, SMALL_CONV, batch, observations, seeded, tabulator
from vast.model import ModelConfig, NetworkConfig
from vast.model.free_energy import (
    StepCosts,
    bernoulli_cost,
    free_energy,
    gaussian_cost,
    local_costs,
)

Floats = NDArray[np.float64]


def log_p(y: Floats, a: Floats, t: float) -> Floats:
    """The density of y = (a + L) / t by that of L."""
    noise = t * y - a
    return np.asarray(np.log(t) - noise - 2 * np.log1p(np.exp(-noise)))


def step_costs(cost: Floats, prior: Floats, posterior: Floats, weight: float) -> StepCosts:
    r, p, q = map(torch.from_numpy, (cost, prior, posterior))
    return StepCosts(r, p, q, weight)


def test_terms_equal_a_computation_by_hand_and_add_up() -> None:
    rng = np.random.default_rng(0)
    prior, posterior = rng.normal(size=(2, 7, 5))
    cost = rng.uniform(1, 2, 7)
    terms = free_energy(step_costs(cost, prior, posterior, 16.0))
    assert terms.reconstruction.item() == pytest.approx(16 * cost.mean())
    assert terms.transition.item() == pytest.approx(-prior.sum() / 7)
    assert terms.entropy.item() == pytest.approx(-posterior.sum() / 7)
    total = terms.reconstruction + terms.transition - terms.entropy
    assert terms.free_energy.item() == pytest.approx(total.item())


def test_local_costs_hold_what_a_bit_changes_and_nothing_else() -> None:
    rng = np.random.default_rng(0)
    prior, posterior = rng.normal(size=(2, 7, 5))
    cost = rng.uniform(1, 2, 7)
    own, successor = local_costs(step_costs(cost, prior, posterior, 2.0))
    np.testing.assert_allclose(own.numpy(), 2 * cost[:, None] - prior + posterior)
    np.testing.assert_allclose(successor.numpy(), -prior.sum(1, keepdims=True))


def test_reconstruction_costs_equal_a_computation_by_hand() -> None:
    rng = np.random.default_rng(0)
    image, logits = rng.uniform(size=(3, 2, 4, 5)), rng.normal(size=(3, 2, 4, 5))
    p = 1 / (1 + np.exp(-logits))
    wanted = -(image * np.log(p) + (1 - image) * np.log(1 - p)).sum((1, 2, 3))
    got = bernoulli_cost(torch.from_numpy(image), torch.from_numpy(logits))
    np.testing.assert_allclose(got.numpy(), wanted)
    x, mean, scale = rng.normal(size=(3, 4)), rng.normal(size=(3, 4)), rng.uniform(0.1, 2, 4)
    density = np.exp(-(((x - mean) / scale) ** 2) / 2) / (scale * np.sqrt(2 * np.pi))
    got = gaussian_cost(*map(torch.from_numpy, (x, mean, np.log(scale))))
    np.testing.assert_allclose(got.numpy(), -np.log(density).sum(1))


def test_the_model_uses_the_sample_the_action_and_the_initial_distribution() -> None:
    """Every row alone, in a loop, from the networks' outputs."""
    config = ModelConfig(n_bits=5, network=replace(SMALL, signed_code=True))
    tab = tabulator(config, dtype=torch.float64)
    model = tab.model
    chosen = np.arange(12) % 4 != 3
    data = batch(np.random.default_rng(1), rows=12)._replace(trained=chosen[:, None])
    frames, actions, first, trained = tab._tensors_of(data)
    with torch.no_grad():
        model.initial.uniform_(-2, 2, generator=seeded(5))
        _, terms, posterior, _ = model(frames, actions, first, trained, seeded(3))
        u = torch.rand(posterior.shape, generator=seeded(3), dtype=torch.float64)
        y = (posterior + u.log() - (1 - u).log()) / (2 / 3)
        r = t = h = 0.0
        assert 0 < first.sum() < 12
        for i in np.flatnonzero(chosen):
            z = 2 * y[i].sigmoid() - 1
            a, b = model.encoder(frames[i, :, None])
            if first[i, 0]:
                prior = model.initial
            else:
                prior = model.transitions.networks[int(actions[i, 0])](z[:1])[0]
            r += bernoulli_cost(frames[i, 1:], model.decoder(z[1:])).item()
            t -= log_p(y[i, 1].numpy(), prior.numpy(), 1 / 2).sum()
            h -= log_p(y[i, 1].numpy(), b.numpy(), 2 / 3).sum()
            np.testing.assert_allclose(torch.stack([a, b]).numpy(), posterior[i].numpy())
    got = [term.item() for term in terms]
    np.testing.assert_allclose(got, [(r + t - h) / 9, r / 9, t / 9, h / 9])


VECTOR = replace(SMALL, learned_vector_scale=True)
# With biases of 0, a unit that sees padding only is exactly at the kink of its ReLU.
BIASED_CONV = replace(SMALL_CONV, initialisation="torch")


@pytest.mark.parametrize(
    ("network", "shape", "history"),
    [(SMALL, (3, 4, 1), 1), (BIASED_CONV, (9, 7, 2), 0), (VECTOR, (3,), 0)],
)
def test_the_gradient_equals_finite_differences(
    network: NetworkConfig, shape: tuple[int, ...], history: int
) -> None:
    config = ModelConfig(n_bits=3, history=history, network=network, reconstruction_weight=2.0)
    tab = tabulator(config, shape, dtype=torch.float64)
    data = tab._tensors_of(batch(np.random.default_rng(0), history, shape, rows=6, length=2))

    def cost() -> torch.Tensor:
        loss: torch.Tensor = tab.model(*data, seeded(7)).loss
        return loss

    torch.autograd.backward(cost())
    rng = np.random.default_rng(0)
    step, kinks = 1e-6, 0
    for name, parameter in tab.model.named_parameters():
        assert parameter.grad is not None, name
        weights, gradient, n = parameter.detach(), parameter.grad, parameter.numel()
        for flat in rng.choice(n, min(6, n), replace=False):
            i = np.unravel_index(flat, weights.shape)
            old = weights[i].item()
            values = []
            for shift in (-step, step):
                weights[i] = old + shift
                values.append(cost().item())
            weights[i] = old
            difference = (values[1] - values[0]) / (2 * step)
            # a ReLU within a step of its kink has no derivative to compare
            kinks += difference != pytest.approx(gradient[i].item(), rel=1e-4, abs=1e-6)
    assert kinks == 0


def test_what_stands_before_a_first_frame_changes_nothing() -> None:
    rng = np.random.default_rng(0)
    config = ModelConfig(n_bits=4, history=2, network=SMALL)
    data = batch(rng, 2)
    data.first[:] = True
    other = data.observations.copy()
    other[:, :3] = observations(rng, (8, 3), (6, 8, 1))
    a, b = tabulator(config), tabulator(config)
    assert a.train(data) == b.train(data._replace(observations=other))
    for mine, theirs in zip(a.model.parameters(), b.model.parameters(), strict=True):
        assert torch.equal(mine, theirs)
    data.first[:] = False
    assert a.train(data) != b.train(data._replace(observations=other))


def test_the_action_before_a_first_frame_changes_nothing_and_others_do() -> None:
    config = ModelConfig(n_bits=4, network=SMALL)
    data = batch(np.random.default_rng(0))
    changed = np.where(data.first, (data.actions + 1) % 3, data.actions)
    energy = tabulator(config).train(data).free_energy
    assert tabulator(config).train(data._replace(actions=changed)).free_energy == energy
    changed = (data.actions + 1) % 3
    assert tabulator(config).train(data._replace(actions=changed)).free_energy != energy


@pytest.mark.parametrize("network", [SMALL, SMALL_CONV])
def test_history_before_a_beginning_is_blank_within_segments(network: NetworkConfig) -> None:
    """Each position of a segment is encoded as that frame with its own history."""
    rng = np.random.default_rng(2)
    config = ModelConfig(n_bits=16, history=2, network=network, standardise=True)
    shape = (6, 8, 2)
    tab = tabulator(config, shape, dtype=torch.float64)
    tab.fit_standardisation(observations(rng, (20,), shape))
    data = batch(rng, 2, shape, rows=20, length=5)
    wanted = []
    for row in range(20):
        for at in range(6):
            window = data.observations[row, at : at + 3].copy()
            for back in range(2):  # between frame at-back-1 and frame at-back lies a beginning?
                if any(data.first[row, j - 1] for j in range(max(at - back, 1), at + 1)):
                    window[: 2 - back] = 0
            wanted.append(window)
    keys = tab.encode(np.stack(wanted)).reshape(20, 6)
    _, got = tab.train_and_encode(data)
    np.testing.assert_array_equal(got, keys)
