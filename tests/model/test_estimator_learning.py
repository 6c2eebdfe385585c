"""Each estimator learns a small world, resumes exactly, and saves what it has learned."""

from typing import get_args

import numpy as np
import pytest

from tests.model.test_estimators import TINY
from tests.model.worlds import tabulator
from vast.model import Batch, EstimatorName, ModelConfig, NetworkConfig

NAMES: tuple[EstimatorName, ...] = get_args(EstimatorName)


def corridor(rng: np.random.Generator, rows: int, length: int, history: int) -> Batch:
    """A walk on a ring of six places by two actions; a place shows its angle, with some noise."""
    steps = history + 1 + length
    actions = rng.integers(0, 2, (rows, steps))
    place = (rng.integers(0, 6, (rows, 1)) + np.cumsum(2 * actions - 1, 1)) % 6
    angle = place * np.pi / 3
    seen = np.stack([np.cos(angle), np.sin(angle)], -1) + rng.normal(0, 0.05, (rows, steps, 2))
    first = rng.random((rows, length)) < 0.05
    return Batch(seen.astype(np.float32), actions[:, -length:], first)


WALKER = NetworkConfig(
    kind="mlp", mlp_hidden=(32,), transition_hidden=(16,), signed_code=True, vector_scale=0.3
)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("length", "history"), [(1, 0), (4, 1)])
def test_each_estimator_learns_and_resumes_bit_for_bit(
    name: EstimatorName, length: int, history: int
) -> None:
    config = ModelConfig(
        n_bits=6, history=history, network=WALKER, estimator=name, learning_rate=3e-3
    )
    tab, rng = tabulator(config, (2,)), np.random.default_rng(0)
    data = [corridor(rng, 64 // length, length, history) for _ in range(160)]
    energies = [tab.train(part).free_energy for part in data]
    assert np.mean(energies[-20:]) < 0.5 * np.mean(energies[:20])
    angle = np.arange(6) * np.pi / 3
    clean = np.stack([np.cos(angle), np.sin(angle)], -1).astype(np.float32)
    if not history:
        assert len(set(tab.encode(clean).tolist())) >= 4
    resumed = tabulator(config, (2,), seed=99)
    resumed.load_state_dict(tab.state_dict())
    for part in data[:5]:
        terms, keys = tab.train_and_encode(part)
        same_terms, same_keys = resumed.train_and_encode(part)
        assert terms == same_terms
        np.testing.assert_array_equal(keys, same_keys)
    one, other = tab.state_dict(), resumed.state_dict()
    assert one.keys() == other.keys()
    for key, value in one.items():
        np.testing.assert_array_equal(value, other[key], err_msg=key)


def test_only_the_score_function_has_something_of_its_own_to_save() -> None:
    states = {
        name: set(tabulator(ModelConfig(n_bits=4, network=TINY, estimator=name)).state_dict())
        for name in NAMES
    }
    assert states["concrete"] == states["straight-through"]
    assert not any("estimator" in name for name in states["concrete"])
    more = states["score-function"] - states["concrete"]
    assert {name.rsplit(".", 1)[-1] for name in more} >= {"mean", "variance", "started", "weight"}
    assert all(name.startswith("model/estimator.") for name in more)


def test_networks_start_from_the_same_weights_whatever_the_estimator() -> None:
    states = [
        tabulator(ModelConfig(n_bits=4, network=TINY, estimator=name)).state_dict()
        for name in NAMES
    ]
    for name in states[0]:
        if name.startswith("model/"):
            for state in states[1:]:
                np.testing.assert_array_equal(state[name], states[0][name])
