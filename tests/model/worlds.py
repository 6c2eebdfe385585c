"""Small models, and minibatches to train them on."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from vast.model import Batch, ModelConfig, NetworkConfig, Tabulator

SMALL = NetworkConfig(kind="mlp", mlp_hidden=(32,), transition_hidden=(16,))
SMALL_CONV = NetworkConfig(
    conv_channels=(4, 4, 4), dense=16, deconv_channels=(8, 4, 4, 4), transition_hidden=(8,)
)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def tabulator(
    config: ModelConfig,
    shape: tuple[int, ...] = (6, 8, 1),
    seed: int = 0,
    dtype: torch.dtype = torch.float32,
) -> Tabulator:
    return Tabulator(shape, 3, config, seeded(seed), dtype)


def observations(
    rng: np.random.Generator, lead: tuple[int, ...], shape: tuple[int, ...]
) -> NDArray[Any]:
    if len(shape) == 1:
        return rng.normal(size=(*lead, *shape)).astype(np.float32)
    return rng.integers(0, 256, (*lead, *shape), np.uint8)


def batch(
    rng: np.random.Generator,
    history: int = 0,
    shape: tuple[int, ...] = (6, 8, 1),
    rows: int = 8,
    length: int = 1,
) -> Batch:
    """Random frames and actions; about a third begin an episode."""
    return Batch(
        observations(rng, (rows, history + 1 + length), shape),
        rng.integers(0, 3, (rows, length)),
        rng.random((rows, length)) < 0.3,
    )
