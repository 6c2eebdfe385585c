"""A step of training is the same whether or not its frames are encoded."""

import numpy as np
import pytest

from tests.model.worlds import SMALL, batch, observations, tabulator
from vast.agents.vast.training_job import TrainJob, run_job
from vast.model import ModelConfig


@pytest.mark.parametrize("ema_decay", [0.0, 0.9])
def test_frames_without_a_state_to_revise_are_trained_on_all_the_same(ema_decay: float) -> None:
    rng = np.random.default_rng(0)
    config = ModelConfig(n_bits=16, network=SMALL, ema_decay=ema_decay)
    data = batch(rng, rows=4, length=3)
    numbers = np.arange(16).reshape(4, 4)
    again = observations(rng, (5, 1), (6, 8, 1))
    tabulators = [tabulator(config) for _ in range(2)]
    revised, trained_only = (
        run_job(tab, TrainJob(data, numbers, numbers < limit, again, np.arange(20, 25)))
        for tab, limit in zip(tabulators, (14, 0), strict=True)
    )
    assert revised.terms == trained_only.terms
    assert revised.numbers.tolist() == [*range(14), *range(20, 25)]
    assert trained_only.numbers.tolist() == [*range(20, 25)]
    np.testing.assert_array_equal(revised.codes[14:], trained_only.codes)
    one, other = (tab.state_dict() for tab in tabulators)
    for name, value in one.items():
        np.testing.assert_array_equal(value, other[name], err_msg=name)
