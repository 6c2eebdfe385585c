"""Gradients through a binary sample, against exact gradients by enumeration of all codes."""

import copy
import itertools
from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy import integrate
from torch import Tensor

from tests.model.worlds import batch, observations, seeded, tabulator
from vast.errors import UserError
from vast.model import Batch, EstimatorName, ModelConfig, NetworkConfig, Tabulator, bernoulli
from vast.model.estimators import ESTIMATORS, ScoreFunction, estimator
from vast.model.free_energy import gaussian_cost

NAMES: tuple[EstimatorName, ...] = get_args(EstimatorName)
HARD: tuple[EstimatorName, ...] = ("straight-through", "score-function")
TINY = NetworkConfig(
    kind="mlp",
    initialisation="torch",
    mlp_hidden=(5,),
    transition_hidden=(4,),
    signed_code=True,
    vector_scale=2.0,
)
D, SHAPE, LENGTH = 3, (2,), 2
LIMIT = 4.5
"""standard errors: about one coordinate in 150 000 is further off by chance"""

FIRSTS = [(False, False), (False, True), (True, False)]
"""whether the second and third frame of a segment of three begin an episode"""


def tiny(name: EstimatorName, weight: float = 1.5) -> Tabulator:
    config = ModelConfig(
        n_bits=D, network=TINY, estimator=name, reconstruction_weight=weight, learning_rate=1e-2
    )
    tab = tabulator(config, SHAPE, dtype=torch.float64)
    with torch.no_grad():  # PyTorch's initial weights hardly tell one code from another
        for module in (tab.model.decoder, tab.model.transitions):
            for parameter in module.parameters():
                parameter.mul_(3)
        tab.model.initial.uniform_(-2, 2, generator=seeded(5))
    return tab


def segment(first: tuple[bool, bool], rows: int) -> Batch:
    """The same three frames again and again."""
    rng = np.random.default_rng(1)
    frames = observations(rng, (1, LENGTH + 1), SHAPE)
    actions = np.array([[2, 0]])
    repeated = (np.repeat(x, rows, 0) for x in (frames, actions, np.array([first])))
    return Batch(*repeated)


def logits(rows: int) -> Tensor:
    one = torch.empty(1, LENGTH + 1, D, dtype=torch.float64).uniform_(-2, 2, generator=seeded(3))
    return one.repeat(rows, 1, 1).requires_grad_()


def estimates(tab: Tabulator, data: Batch, monkeypatch: pytest.MonkeyPatch) -> Tensor:
    """Gradients of each row's free energy in its logits, from the loss of the model: [B, 3, d]."""
    x = logits(len(data.observations))
    monkeypatch.setattr(tab.model, "posterior", lambda inputs: x)
    loss = tab.model(*tab._tensors_of(data), seeded(11)).loss
    (gradient,) = torch.autograd.grad(loss, x)
    return gradient * len(x)


def log_bernoulli(bits: Tensor, x: Tensor) -> Tensor:
    """By the definition: the log of p for a 1, of 1 - p for a 0."""
    return torch.where(bits > 0.5, x.sigmoid(), 1 - x.sigmoid()).log()


def expected_free_energy(tab: Tabulator, data: Batch, x: Tensor) -> Tensor:
    """Sum over all codes of the three frames of q(codes) F(codes), for the first row: [1, 3, d]."""
    model = tab.model
    frames = torch.from_numpy(data.observations[0]).double()
    weight = tab.config.reconstruction_weight
    total = torch.zeros((), dtype=torch.float64)
    all_codes = list(itertools.product((0.0, 1.0), repeat=(LENGTH + 1) * D))
    codes = torch.tensor(all_codes, dtype=torch.float64).reshape(-1, LENGTH + 1, D)
    log_q = log_bernoulli(codes, x)
    for t in range(1, LENGTH + 1):
        mean = model.decoder(2 * codes[:, t] - 1)
        target = frames[t].expand(len(codes), -1)
        if data.first[0, t - 1]:
            prior = model.initial.expand(len(codes), -1)
        else:
            network = model.transitions.networks[int(data.actions[0, t - 1])]
            prior = network(2 * codes[:, t - 1] - 1)
        log_p = log_bernoulli(codes[:, t], prior).sum(1)
        cost = weight * gaussian_cost(target, mean, model.log_scale) - log_p + log_q[:, t].sum(1)
        total = total + (log_q.sum((1, 2)).exp() * cost).sum()
    return total / LENGTH


def exact_gradient(tab: Tabulator, data: Batch) -> Tensor:
    x = logits(1)
    (gradient,) = torch.autograd.grad(expected_free_energy(tab, data, x), x)
    return gradient[0]


def standard_errors_off(samples: Tensor, wanted: Tensor) -> float:
    """How far the mean of samples [n, ...] is from what it should be, at its worst entry."""
    error = samples.std(0) / len(samples) ** 0.5
    # An estimate that never varies must be right by itself.
    off: Tensor = (samples.mean(0) - wanted).abs() / error.clamp(min=1e-12)
    return float(off.max())


def switch_off(tab: Tabulator) -> None:
    """Let the score function subtract 0 and divide by 1."""
    aid = tab.model.estimator
    assert isinstance(aid, ScoreFunction)
    with torch.no_grad():
        for parameter in aid.baseline.parameters():
            parameter.zero_()
    aid.started.fill_(True)  # with mean 0 and variance 0


# --- score function: unbiased ---------------------------------------------------------------------


@pytest.mark.parametrize("first", FIRSTS)
def test_the_score_function_is_unbiased(
    first: tuple[bool, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without baseline, mean and divisor: plain REINFORCE with local signals."""
    tab = tiny("score-function")
    switch_off(tab)
    data = segment(first, 20_000)
    exact = exact_gradient(tab, data)
    assert exact.abs().max() > 0.1
    samples = estimates(tab, data, monkeypatch)
    assert standard_errors_off(samples, exact) < LIMIT


@pytest.mark.parametrize("first", FIRSTS)
def test_baselines_and_normalisation_keep_its_direction_and_lower_its_variance(
    first: tuple[bool, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    tab = tiny("score-function")
    aid = tab.model.estimator
    assert isinstance(aid, ScoreFunction)
    data = segment(first, 20_000)
    exact = exact_gradient(tab, data)
    unaided = copy.deepcopy(tab)  # fits nothing: the same costs, without baselines and divisor
    switch_off(unaided)
    x, few = logits(64), tab._tensors_of(segment(first, 64))
    adam = torch.optim.Adam(aid.parameters(), 1e-2)
    with monkeypatch.context() as patch:
        patch.setattr(tab.model, "posterior", lambda inputs: x)
        for seed in range(120):
            adam.zero_grad()
            tab.model(*few, seeded(seed)).loss.backward()
            adam.step()
    scale = aid.scale.item()
    assert scale > 1.5
    assert aid.mean.abs().min() > 0.1
    frames = torch.from_numpy(data.observations[0]).double()
    assert aid.baseline(frames)[:, 0].std() > 0.05
    with monkeypatch.context() as patch:
        samples = scale * estimates(tab, data, patch)
    assert standard_errors_off(samples, exact) < LIMIT
    with monkeypatch.context() as patch:
        others = estimates(unaided, data, patch)
    assert samples.var(0).sum() < 0.7 * others.var(0).sum()


@pytest.mark.parametrize("first", FIRSTS)
def test_the_other_networks_get_unbiased_gradients_from_hard_samples(
    first: tuple[bool, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in HARD:
        tab, data = tiny(name), segment(first, 20_000)
        x = logits(20_000)
        monkeypatch.setattr(tab.model, "posterior", lambda inputs, x=x: x)
        parameters = [tab.model.initial, *tab.model.decoder.parameters()]
        loss = tab.model(*tab._tensors_of(data), seeded(11)).loss
        got = torch.autograd.grad(loss, parameters, allow_unused=True)
        energy = expected_free_energy(tab, data, logits(1))
        wanted = torch.autograd.grad(energy, parameters, allow_unused=True)
        for mine, theirs in zip(got, wanted, strict=True):
            if theirs is None:
                assert mine is None
            else:
                torch.testing.assert_close(mine, theirs, rtol=0.02, atol=0.02)


# --- straight-through: exact where the cost is linear in each bit ---------------------------------


def through(name: EstimatorName, x: Tensor, config: ModelConfig | None = None) -> Tensor:
    """A sampled code for each logit, as the decoder would be shown it."""
    config = replace(config or ModelConfig(), estimator=name)
    made = estimator(config, 1, seeded(), torch.float64)
    return made.code(made.sample(x, seeded(2)))


def test_hard_samples_are_zero_or_one_with_the_probabilities_of_the_posterior() -> None:
    x = torch.linspace(-3, 3, 7, dtype=torch.float64).repeat(40_000, 1)
    for name in HARD:
        z = through(name, x.clone().requires_grad_()).detach()
        assert set(z.flatten().tolist()) == {0.0, 1.0}
        assert standard_errors_off(z, x[0].sigmoid()) < LIMIT


def test_hard_samples_are_concrete_samples_rounded() -> None:
    x = torch.randn(1000, 8, dtype=torch.float64, generator=seeded(4))
    soft = through("concrete", x)
    for name in HARD:
        assert torch.equal(through(name, x), soft.round())


def test_straight_through_is_exact_for_costs_linear_in_each_bit() -> None:
    """All frames are first ones and the decoder ignores the code: T and H are linear in the code.

    Each single sample then gives the exact gradient, that of the entropy included.
    """
    tab = tiny("straight-through")
    with torch.no_grad():
        for parameter in tab.model.decoder.parameters():
            parameter.zero_()
    data = segment((True, True), 50)
    with pytest.MonkeyPatch.context() as patch:
        samples = estimates(tab, data, patch)
    exact = exact_gradient(tab, data)
    assert exact[1:].abs().min() > 0.01
    torch.testing.assert_close(samples, exact.expand_as(samples), rtol=1e-9, atol=1e-12)


def test_the_bias_of_straight_through_for_a_quadratic_cost_is_the_diagonal() -> None:
    """E[z'Az + b'z] has gradient (2 sum_{j != i} A_ij p_j + A_ii + b_i) p_i'.

    Straight-through takes 2 A_ii p_i for A_ii, since z_i^2 = z_i escapes it: its bias is
    A_ii (2 p_i - 1) p_i', with p' = p (1 - p).
    """
    rng = np.random.default_rng(0)
    root = torch.from_numpy(rng.normal(size=(4, 4)))
    a, b = root @ root.T, torch.from_numpy(rng.normal(size=4))
    x = torch.tensor([-1.5, -0.4, 0.7, 2.0], dtype=torch.float64)
    many = x.repeat(100_000, 1).requires_grad_()
    z = through("straight-through", many)
    (samples,) = torch.autograd.grad((torch.einsum("ni,ij,nj->n", z, a, z) + z @ b).sum(), many)
    p = x.sigmoid()
    slope = p * (1 - p)
    exact = (2 * a @ p - 2 * a.diag() * p + a.diag() + b) * slope
    bias = a.diag() * (2 * p - 1) * slope
    assert standard_errors_off(samples, exact + bias) < LIMIT
    assert standard_errors_off(samples, exact) > 3 * LIMIT


# --- Concrete: exact for a relaxed cost -----------------------------------------------------------


def test_the_concrete_gradient_is_that_of_the_relaxed_free_energy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Finite differences in the logits, with the same noise."""
    tab, data = tiny("concrete"), segment((False, True), 5)
    x = logits(5)
    monkeypatch.setattr(tab.model, "posterior", lambda inputs: x)
    tensors = tab._tensors_of(data)
    (gradient,) = torch.autograd.grad(tab.model(*tensors, seeded(11)).loss, x)
    step = 1e-6
    with torch.no_grad():
        for i in np.ndindex(*x.shape):
            energies = []
            for shift in (step, -2 * step):
                x[i] += shift
                energies.append(tab.model(*tensors, seeded(11)).terms.free_energy.item())
            x[i] += step
            difference = (energies[0] - energies[1]) / (2 * step)
            assert difference == pytest.approx(gradient[i].item(), rel=1e-5, abs=1e-8)


def relaxed_gradient(location: float, temperature: float, target: float) -> float:
    """d/da E[(sigmoid((a + L) / t) - target)^2], integrated over y = (a + L) / t.

    The density of y is t f(t y - a), that of the noise is f: the derivative acts on f alone.
    """
    y = np.concatenate([np.linspace(-40, 40, 200_001), np.geomspace(40, 4e5, 100_000)[1:]])
    y = np.union1d(y, -y)

    def slope(noise: NDArray[np.float64]) -> NDArray[np.float64]:
        """-f'(L) of f = p (1 - p), p = sigmoid(L)."""
        p = 1 / (1 + np.exp(-np.clip(noise, -700, 700)))
        return np.asarray(-p * (1 - p) * (1 - 2 * p))

    z = 1 / (1 + np.exp(-np.clip(y, -700, 700)))
    density = temperature * slope(temperature * y - location)
    return float(integrate.trapezoid((z - target) ** 2 * density, y))


@pytest.mark.parametrize("temperature", [2 / 3, 0.2])
def test_the_mean_concrete_gradient_equals_an_integral(temperature: float) -> None:
    x = torch.full((200_000, 1), 0.8, dtype=torch.float64, requires_grad=True)
    z = through("concrete", x, ModelConfig(posterior_temperature=temperature))
    (samples,) = torch.autograd.grad((z - 0.3).square().sum(), x)
    wanted = torch.tensor([relaxed_gradient(0.8, temperature, 0.3)], dtype=torch.float64)
    assert standard_errors_off(samples, wanted) < LIMIT


def test_the_bias_of_the_concrete_gradient_vanishes_with_the_temperature() -> None:
    """The discrete cost is p (1 - c)^2 + (1 - p) c^2, with gradient (1 - 2 c) p (1 - p).

    The relaxed cost differs from it by t f(a) times the integral of sigmoid(y)^2 - H(y), which is
    -1, to first order in t. The bias of the gradient is thus -t f'(a) = t p (1 - p) (2 p - 1).
    """
    location, target = 0.8, 0.3
    p = 1 / (1 + np.exp(-location))
    exact = (1 - 2 * target) * p * (1 - p)
    temperatures = np.array([2 / 3, 0.1, 0.03, 0.01, 0.003])
    biases = np.array([relaxed_gradient(location, t, target) for t in temperatures]) - exact
    assert abs(biases[0]) > 0.1 * abs(exact)  # at the paper's temperature it is there
    assert (np.diff(np.abs(biases[1:])) < 0).all()
    first_order = temperatures * p * (1 - p) * (2 * p - 1)
    np.testing.assert_allclose(biases[-2:], first_order[-2:], rtol=0.02)


# --- all of them ----------------------------------------------------------------------------------


def test_a_batch_of_first_frames_has_no_successor_part() -> None:
    tab = tiny("score-function")
    assert isinstance(tab.model.estimator, ScoreFunction)
    tab.train(segment((True, True), 4))
    assert tab.model.estimator.started.tolist() == [True, False]
    assert all(parameter.isfinite().all() for parameter in tab.model.parameters())
    tab.train(segment((False, True), 4))
    assert tab.model.estimator.started.tolist() == [True, True]


def test_terms_of_hard_samples_are_log_probabilities() -> None:
    """So transition cost and entropy cannot be negative, unlike those of densities."""
    data = batch(np.random.default_rng(0), shape=SHAPE, rows=50)
    for name in HARD:
        terms = tiny(name).train(data)
        assert terms.transition > 0
        assert terms.entropy > 0
        total = terms.reconstruction + terms.transition - terms.entropy
        assert terms.free_energy == pytest.approx(total)


def test_the_mode_is_the_sign_of_the_logit() -> None:
    values = torch.tensor([-3.0, -1e-6, 0.0, 1e-6, 3.0])
    assert bernoulli.mode(values).tolist() == [False, False, False, True, True]


def test_estimators_are_found_by_their_names() -> None:
    assert tuple(ESTIMATORS) == NAMES
    with pytest.raises(UserError, match="did you mean 'concrete'"):
        ModelConfig(estimator="concret")  # type: ignore[arg-type]
