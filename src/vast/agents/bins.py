"""Bins: prioritized sweeping on states that are bins of the observation, a vector.

If the observation is the truth, such as what a game has in its memory, this is an oracle: how far
the planning gets with states that need not be learned. With `hashed` it is the control: the same
states, whose Hamming distance means nothing.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vast.agents.config import TableConfig
from vast.agents.encoders import StateEncoder
from vast.agents.presets import shared_with_table
from vast.agents.table import TableAgent
from vast.checks import between
from vast.errors import UserError
from vast.model import codes

Scale = tuple[float, float, float]
"""low, high and size: marks at low + size, low + 2 size, ... up to high"""


@dataclass(frozen=True)
class BinsConfig(TableConfig):
    """The hyperparameters of bins; ours."""

    scales: tuple[tuple[int, float, float, float], ...] = ()
    """each is an entry of the observation, counted from 0, and low, high and size: there is a mark
    at low + size, and at every further size up to high. A state has one bit per mark, at most 64.
    An entry may have several scales, fine and coarse ones"""
    hashed: bool = False
    """replace each state by a hash of it, so that near states are no longer alike: a control"""

    def __post_init__(self) -> None:
        super().__post_init__()
        for entry, low, high, size in self.scales:
            if not (entry >= 0 and np.isfinite([low, high]).all() and high >= low + size > low):
                raise UserError(
                    "scales must be (entry, low, high, size), with an entry of 0 or more and at "
                    f"least one size between low and high, got {(entry, low, high, size)}"
                )
        if self.scales:
            marks = sum(count_marks((low, high, size)) for _, low, high, size in self.scales)
            between(1, codes.MAX_BITS, **{"the number of marks of all scales": marks})
        if self.history:
            raise UserError(f"history must be 0 for bins, got {self.history}")


def preset(name: str, task: str | None, shape: tuple[int, ...]) -> BinsConfig:
    """Return the config of a preset; the scales are the user's to choose."""
    return BinsConfig(**{**shared_with_table(name, task, shape), "history": 0})


def count_marks(scale: Scale) -> int:
    """Return how many marks there are."""
    low, high, size = scale
    return int((high - low) / size)


def marks_reached(values: NDArray[Any], scale: Scale) -> NDArray[np.bool_]:
    """Return which marks each value has reached, [N, marks]: a thermometer."""
    low, _, size = scale
    reached: NDArray[np.bool_] = values[:, None] >= low + size * (1 + np.arange(count_marks(scale)))
    return reached


class BinEncoder:
    """Encodes vectors as states; the Hamming distance of two is the number of marks between."""

    def __init__(self, config: BinsConfig) -> None:
        self._entries = [entry for entry, *_ in config.scales]
        self._scales: list[Scale] = [(low, high, size) for _, low, high, size in config.scales]
        self._hashed = config.hashed

    @property
    def n_bits(self) -> int:
        """How many of the lowest bits its codes use."""
        return codes.MAX_BITS if self._hashed else sum(map(count_marks, self._scales))

    def encode(self, histories: NDArray[Any]) -> NDArray[np.uint64]:
        """Return the states of vectors, [N, 1, entries]."""
        vectors = histories[:, -1]
        parts = [
            marks_reached(vectors[:, entry], scale)
            for entry, scale in zip(self._entries, self._scales, strict=True)
        ]
        found = codes.pack(np.concatenate(parts, axis=1))
        return scrambled(found) if self._hashed else found

    def decode(self, states: NDArray[np.uint64]) -> NDArray[np.float64]:
        """Return the middle of each scale's bin, [N, scales], of states that are not hashed."""
        ends = np.cumsum([count_marks(scale) for scale in self._scales])
        parts = np.split(codes.unpack(states, ends[-1]), ends[:-1], axis=1)
        middles = [
            low + size * (part.sum(axis=1) + 0.5)
            for part, (low, _, size) in zip(parts, self._scales, strict=True)
        ]
        return np.stack(middles, axis=1)


def scrambled(states: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return another state for each, so that the distance of two says nothing about these.

    It is the finaliser of SplitMix64 (Steele, Lea & Flood 2014), which maps one to one.
    """
    mixed = states + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


class Bins(TableAgent):
    """A table agent whose states are bins: no network, no replay."""

    name = "bins"
    config_class = BinsConfig
    config: BinsConfig

    def _make_encoder(self, seed: np.random.SeedSequence) -> StateEncoder:
        if len(self.shape) != 1:
            raise UserError(f"observations must be vectors for bins, got shape {self.shape}")
        if not self.config.scales:
            raise UserError("scales must be given for bins, at least one")
        last = max(entry for entry, *_ in self.config.scales)
        between(0, self.shape[0] - 1, **{"an entry in scales": last})
        return BinEncoder(self.config)
