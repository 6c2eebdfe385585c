"""Chance: generators that follow from one seed, as plain data and back."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch


def child(seed: np.random.SeedSequence, number: int) -> np.random.SeedSequence:
    """Return a seed that follows from another; `spawn` would count how often it was asked."""
    return np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, number))


def generator(seed: np.random.SeedSequence) -> np.random.Generator:
    """Return a NumPy generator."""
    return np.random.Generator(np.random.PCG64(seed))


def torch_generator(seed: np.random.SeedSequence) -> torch.Generator:
    """Return a PyTorch generator on the processor."""
    return torch.Generator().manual_seed(int(seed.generate_state(1, np.uint64)[0] >> 1))


def load(rng: np.random.Generator, saved: Mapping[str, Any]) -> None:
    """Let a generator go on from `rng.bit_generator.state` of another."""
    state = {name: int(number) for name, number in saved["state"].items()}
    rng.bit_generator.state = {
        "bit_generator": str(saved["bit_generator"]),
        "state": state,
        "has_uint32": int(saved["has_uint32"]),
        "uinteger": int(saved["uinteger"]),
    }
