"""One step of training learns the same whether or not anybody asks for the states of its frames."""

import numpy as np
import torch

from vast.agents.vast.lockstep import Task, learn
from vast.agents.vast.presets import debug
from vast.model.tabulator import Batch, Tabulator

SHAPE = (3,)


def learned_with(valid: bool) -> tuple[Tabulator, int]:
    """Return a model after one step, and how many states came of it."""
    rng = np.random.default_rng(0)
    tabulator = Tabulator(SHAPE, 2, debug(None, SHAPE).model, torch.Generator().manual_seed(0))
    tabulator.fit_standardisation(rng.standard_normal((20, *SHAPE), np.float32))
    frames = rng.standard_normal((4, 2, *SHAPE), np.float32)
    task = Task(
        Batch(frames, rng.integers(2, size=4), np.zeros(4, np.bool_)),
        np.arange(8).reshape(4, 2),
        np.full((4, 2), valid),
        rng.standard_normal((3, 1, *SHAPE), np.float32),
        np.arange(8, 11),
    )
    learned = learn(tabulator, task)
    assert len(learned.numbers) == len(learned.codes)
    return tabulator, len(learned.codes)


def test_states_that_nobody_asks_for_change_nothing_that_is_learned() -> None:
    (asked, many), (unasked, few) = learned_with(True), learned_with(False)
    assert (many, few) == (8 + 3, 3)
    states = asked.state_dict(), unasked.state_dict()
    for name in states[0]:
        np.testing.assert_array_equal(states[0][name], states[1][name], err_msg=name)
