"""The binary Concrete distribution, against integrals, its distribution function and Bernoulli."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray
from scipy import integrate, stats

from tests.model.worlds import seeded
from vast.model import concrete, pack, unpack

CASES = [(t, a) for t in (0.3, 1 / 2, 2 / 3, 1.0, 2.0) for a in (-4.0, 0.0, 1.5)]


def density(y: NDArray[np.float64], location: float, temperature: float) -> NDArray[np.float64]:
    location_ = torch.tensor(location, dtype=torch.float64)
    log_p = concrete.log_density(torch.from_numpy(y), location_, temperature)
    p: NDArray[np.float64] = log_p.exp().numpy()
    return p


@pytest.mark.parametrize(("temperature", "location"), CASES)
def test_the_density_integrates_to_one(temperature: float, location: float) -> None:
    y = np.linspace(-60, 60, 40_001) / temperature
    assert integrate.trapezoid(density(y, location, temperature), y) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize(("temperature", "location"), CASES)
def test_samples_follow_the_density(temperature: float, location: float) -> None:
    locations = torch.full((20_000,), location, dtype=torch.float64)
    y = concrete.sample(locations, temperature, seeded()).numpy()
    edges = np.linspace(-60, 60, 40_001) / temperature
    cumulative = integrate.cumulative_trapezoid(
        density(edges, location, temperature), edges, initial=0
    )
    result = stats.kstest(y, lambda x: np.interp(x, edges, cumulative))
    assert result.pvalue > 1e-3


@pytest.mark.parametrize(("temperature", "location"), CASES)
def test_thresholded_samples_are_bernoulli_at_any_temperature(
    temperature: float, location: float
) -> None:
    n = 40_000
    y = concrete.sample(torch.full((n,), location), temperature, seeded(1))
    p = 1 / (1 + np.exp(-location))
    assert abs((y > 0).double().mean().item() - p) < 4 * np.sqrt(p * (1 - p) / n)


def test_samples_go_to_zero_and_one_with_the_temperature() -> None:
    undecided = []
    for temperature in (1.0, 0.1, 0.01, 0.001):
        z = concrete.sample(torch.linspace(-2, 2, 20_000), temperature, seeded()).sigmoid()
        undecided.append(torch.minimum(z, 1 - z).mean().item())
    assert undecided == sorted(undecided, reverse=True)
    assert undecided[-1] < 1e-3


def test_noise_is_finite_where_the_generator_gives_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    for u in (0.0, 1 - 2**-24):
        monkeypatch.setattr(torch, "rand", lambda *a, u=u, **k: torch.full((1,), u))
        assert concrete.sample(torch.zeros(1), 0.5, seeded()).abs().item() < 40


@given(st.integers(1, 64).flatmap(lambda d: hnp.arrays(np.bool_, (5, d))))
def test_codes_survive_packing_and_bit_i_is_dimension_i(bits: NDArray[np.bool_]) -> None:
    keys = pack(bits)
    assert keys.dtype == np.uint64
    assert [int(k) for k in keys] == [sum(int(b) << i for i, b in enumerate(row)) for row in bits]
    np.testing.assert_array_equal(unpack(keys, bits.shape[1]), bits)


def test_the_largest_key_is_all_64_ones() -> None:
    assert int(pack(np.ones((1, 64), np.bool_))[0]) == 2**64 - 1
    assert pack(np.ones((2, 3, 64), np.bool_)).shape == (2, 3)
    with pytest.raises(ValueError, match="between 1 and 64, got 65"):
        pack(np.ones((1, 65), np.bool_))
