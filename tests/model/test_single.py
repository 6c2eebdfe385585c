"""A single observation has the code that it has in a batch, up to rounding."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.model.worlds import SMALL, batch, observations, tabulator
from vast.model import ModelConfig
from vast.model.single import SingleEncoder, SingleEncoders, single_encoder

IMAGE, VECTOR = (6, 8, 3), (5,)


@pytest.mark.parametrize("shape", [IMAGE, VECTOR])
@pytest.mark.parametrize("history", [0, 2])
@pytest.mark.parametrize("standardise", [False, True])
def test_single_codes_are_those_of_the_batch(
    shape: tuple[int, ...], history: int, standardise: bool
) -> None:
    rng = np.random.default_rng(0)
    network = replace(SMALL, mlp_hidden=(32, 16))
    config = ModelConfig(
        n_bits=64, history=history, network=network, standardise=standardise, ema_decay=0.5
    )
    tab = tabulator(config, shape)
    if standardise:
        tab.fit_standardisation(observations(rng, (50,), shape))
    tab.publish()
    for _ in range(3):  # the weights are followed as they change
        tab.train(batch(rng, history, shape))
        tab.publish()
        seen = observations(rng, (200, history + 1), shape)
        single = np.concatenate([tab.encode(seen[i : i + 1]) for i in range(len(seen))])
        encoder = tab._published
        assert encoder is not None
        alone = single_encoder(encoder, tab.model.observations)
        assert isinstance(alone, SingleEncoder)
        logits = np.stack([alone.logits(each) for each in seen])
        with torch.no_grad():
            no_steps = torch.zeros(len(seen), 0, dtype=torch.bool)
            inputs = tab.model.encoder_inputs(tab._frames(seen), no_steps)
            exact = tab.model.posterior(inputs, encoder)[:, 0].numpy()
        np.testing.assert_allclose(logits, exact, atol=1e-5 * np.abs(exact).max())
        # A bit may differ only where its logit is 0 up to rounding.
        clear = (np.abs(exact) > 1e-4).all(1)
        assert clear.sum() > 150
        np.testing.assert_array_equal(single[clear], tab.encode(seen)[clear])


def test_the_wrong_type_is_refused_as_in_a_batch() -> None:
    tab = tabulator(ModelConfig(network=SMALL), IMAGE)
    for rows in (1, 2):
        with pytest.raises(ValueError, match="type uint8"):
            tab.encode(np.zeros((rows, 1, *IMAGE), np.float32))


def test_other_networks_and_types_have_no_such_encoder() -> None:
    tab = tabulator(ModelConfig(network=SMALL), IMAGE, dtype=torch.float64)
    assert single_encoder(tab.model.encoder, tab.model.observations) is None


def test_the_encoder_for_single_observations_follows_weights_into_other_memory() -> None:
    tab = tabulator(ModelConfig(network=SMALL), IMAGE)
    encoder, singles = tab.model.encoder, SingleEncoders(tab.model.observations)
    first = singles.of(encoder)
    assert first is not None
    assert singles.of(encoder) is first
    seen = observations(np.random.default_rng(0), (1,), IMAGE)
    before = first.logits(seen)
    last = list(encoder.parameters())[-1]
    last.data = last.data + 1  # as when another process trains, whose memory it shares from now on
    moved = singles.of(encoder)
    assert moved is not None
    np.testing.assert_allclose(moved.logits(seen), before + 1, rtol=1e-5)
    with torch.no_grad():
        last.add_(1)
    assert singles.of(encoder) is moved
    np.testing.assert_allclose(moved.logits(seen), before + 2, rtol=1e-5)
    other = tabulator(ModelConfig(network=SMALL), IMAGE).model.encoder
    assert singles.of(other) is not moved
