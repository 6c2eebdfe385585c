"""Our model against a plain one that shares no code with it, of the paper's size and the small."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from benchmarks.plain_model import PlainTabulator

from tests.model.worlds import batch, observations, tabulator
from vast.agents.vast.presets import preset
from vast.model import Batch, ModelConfig

LARGE, TINY = (60, 80, 3), (15, 20, 3)
SMALL = replace(preset("cpu", None, LARGE).model, final_learning_rate=None)


@pytest.mark.parametrize(
    ("config", "shape"),
    [
        (SMALL, TINY),
        (replace(SMALL, history=2), TINY),
        (ModelConfig(history=1), LARGE),
        pytest.param(ModelConfig(), LARGE, marks=pytest.mark.slow),
    ],
)
def test_a_plain_model_learns_the_same(config: ModelConfig, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    ours = tabulator(config, shape)
    if config.standardise:
        ours.fit_standardisation(observations(rng, (20,), shape))
    plain = PlainTabulator(ours)
    # Each action is taken and an episode begins: where nobody does, ours has no gradient.
    data = batch(rng, config.history, shape, rows=8)
    actions, first = np.arange(8) % 3, np.arange(8) == 7
    data = Batch(data.observations, actions, first)
    for step in range(3):
        assert ours.train(data).free_energy == pytest.approx(plain.train(data), rel=1e-5)
        if step == 0:
            for (name, mine), theirs in zip(
                ours.model.named_parameters(), plain.model.parameters(), strict=True
            ):
                assert mine.grad is not None
                assert theirs.grad is not None
                scale = theirs.grad.abs().max().item()
                torch.testing.assert_close(
                    mine.grad, theirs.grad, rtol=1e-3, atol=1e-4 * scale, msg=name
                )
