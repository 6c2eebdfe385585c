"""LSH: prioritized sweeping on states from fixed random projections (paper, section 3.1)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vast.agents.config import TableConfig
from vast.agents.encoders import StateEncoder
from vast.agents.presets import shared_with_table
from vast.agents.projection import Projection
from vast.agents.table import TableAgent
from vast.checks import between
from vast.errors import UserError
from vast.model import codes


@dataclass(frozen=True)
class LSHConfig(TableConfig):
    """The hyperparameters of LSH; the defaults are the paper's, for 3D navigation."""

    n_bits: int = 64
    """d, bits of a state and random projections, 1 to 64; supplement, 'LSH'"""
    constant: float = 1.0
    """entry appended to vectors, not to images: without it the bits depend on the direction only;
    a larger one moves the cuts farther from the origin; 0: none; ours"""

    def __post_init__(self) -> None:
        super().__post_init__()
        between(1, 64, n_bits=self.n_bits)
        if not np.isfinite(self.constant):
            raise UserError(f"constant must be finite, got {self.constant}")


PRESETS: dict[str, dict[str, Any]] = {"paper": {}, "cpu": {}, "debug": {"n_bits": 16}}
"""what each preset sets beside what all agents share"""


def preset(name: str, task: str | None, shape: tuple[int, ...]) -> LSHConfig:
    """Return the config of a preset."""
    return LSHConfig(**shared_with_table(name, task, shape), **PRESETS[name])


class RandomProjections:
    """Bit i of a state is whether v_i . o > 0, for fixed Gaussian v_i (Charikar 2002).

    Of two observations at an angle, each bit differs with probability angle / pi.
    """

    def __init__(
        self, shape: tuple[int, ...], config: LSHConfig, seed: np.random.SeedSequence
    ) -> None:
        self.n_bits = config.n_bits
        constant = config.constant if len(shape) == 1 else 0.0
        self.project = Projection(shape, config.history, config.n_bits, constant, seed)

    def encode(self, histories: NDArray[Any]) -> NDArray[np.uint64]:
        """Return the states of [N, k + 1, *shape] frames."""
        bits = np.array([self.project(history) > 0 for history in histories])
        return codes.pack(bits)

    def state_dict(self) -> dict[str, Any]:
        """Return the directions."""
        return self.project.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Use saved directions."""
        self.project.load_state_dict(state)


class LSH(TableAgent):
    """A table agent whose encoder is fixed: no network, no replay."""

    name = "lsh"
    config_class = LSHConfig
    config: LSHConfig

    def _make_encoder(self, seed: np.random.SeedSequence) -> StateEncoder:
        return RandomProjections(self.shape, self.config, seed)
