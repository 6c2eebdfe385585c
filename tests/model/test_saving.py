"""A saved tabulator goes on bit for bit, as plain arrays, and a damaged one is refused."""

import io
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.model.worlds import SMALL, SMALL_CONV, batch, observations, tabulator
from vast.model import Batch, ModelConfig, NetworkConfig

SHAPE = (6, 8, 1)


def through_a_file(state: dict[str, Any]) -> dict[str, Any]:
    file = io.BytesIO()
    np.savez(file, **state)
    file.seek(0)
    with np.load(file, allow_pickle=False) as archive:
        return dict(archive)


def assert_same(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert one.keys() == other.keys()
    for name, value in one.items():
        np.testing.assert_array_equal(value, other[name], err_msg=name)


@pytest.mark.parametrize("network", [SMALL, SMALL_CONV])
@pytest.mark.parametrize("ema_decay", [0.0, 0.9])
def test_a_loaded_tabulator_goes_on_bit_for_bit(network: NetworkConfig, ema_decay: float) -> None:
    rng = np.random.default_rng(0)
    config = ModelConfig(
        n_bits=8,
        network=network,
        ema_decay=ema_decay,
        standardise=True,
        final_learning_rate=1e-5,
        learning_rate_steps=10,
    )
    one = tabulator(config)
    one.fit_standardisation(observations(rng, (20,), SHAPE))
    data = batch(rng)
    # an action that nobody took has no moments yet
    data = Batch(data.observations, data.actions % 2, data.first)
    for _ in range(4):
        one.train(data)
    saved = one.state_dict()
    assert all(isinstance(value, int | np.ndarray) for value in saved.values())
    copy = tabulator(config, seed=99)
    copy.load_state_dict(through_a_file(saved))
    assert_same(copy.state_dict(), saved)
    later = batch(rng)
    for _ in range(4):
        assert one.train(later) == copy.train(later)
    assert_same(copy.state_dict(), one.state_dict())
    frames = observations(rng, (30,), SHAPE)
    np.testing.assert_array_equal(one.encode(frames), copy.encode(frames))
    with pytest.raises(RuntimeError, match="once"):
        copy.fit_standardisation(frames)


def test_saving_is_a_copy_and_changes_nothing() -> None:
    data = batch(np.random.default_rng(0))
    one, other = (tabulator(ModelConfig(n_bits=8, network=SMALL)) for _ in range(2))
    one.train(data)
    other.train(data)
    saved = one.state_dict()
    before = {name: np.array(value) for name, value in saved.items()}
    assert one.train(data) == other.train(data)
    assert_same(saved, before)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ({"model/initial": None}, "model/initial is missing"),
        ({"model/other": np.zeros(3)}, "model/other does not belong to this model"),
        (
            {"model/initial": np.zeros(9, np.float32)},
            r"model/initial must be float32\[8\], got float32\[9\]",
        ),
        ({"model/initial": np.zeros(8)}, r"model/initial must be float32\[8\], got float64\[8\]"),
        ({"optimiser/initial/exp_avg": None}, "optimiser/initial/exp_avg is missing"),
        ({"generator": np.zeros(3, np.uint8)}, "generator"),
        ({"steps": 1.5}, "steps must be an integer, got 1.5"),
        ({"version": 2}, "version must be 1, got 2"),
    ],
)
def test_damage_is_refused_and_changes_nothing(damage: dict[str, Any], message: str) -> None:
    tab = tabulator(ModelConfig(n_bits=8, network=SMALL))
    tab.train(batch(np.random.default_rng(0)))
    before = tab.state_dict()
    state = {name: value for name, value in (before | damage).items() if value is not None}
    with pytest.raises(ValueError, match=message):
        tab.load_state_dict(state)
    assert_same(tab.state_dict(), before)


def test_a_model_of_another_shape_is_refused() -> None:
    config = ModelConfig(n_bits=8, network=SMALL)
    saved = tabulator(replace(config, n_bits=9)).state_dict()
    with pytest.raises(ValueError, match="must be float32"):
        tabulator(config).load_state_dict(saved)
