"""The seam for states: what turns observations into the states of a table."""

from collections.abc import Mapping
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from vast.errors import UserError
from vast.model.free_energy import Terms
from vast.model.tabulator import Batch
from vast.training.protocol import StateDict


class StateEncoder(Protocol):
    """Maps observations to states."""

    @property
    def n_bits(self) -> int:
        """How many of the lowest bits its codes use."""
        ...

    def encode(self, histories: NDArray[Any]) -> NDArray[np.uint64]:
        """Return the states, [N], of frames with the k before them, [N, k + 1, *shape]."""
        ...

    def state_dict(self) -> StateDict:
        """Return what cannot be made again from the config."""
        ...

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a saved state; ValueError if it does not fit."""
        ...


class FixedEncoder:
    """The base of encoders that have nothing to save.

    If its codes do not use all 64 bits, `n_bits` should say so: extensions tag the others.
    """

    @property
    def n_bits(self) -> int:
        """How many of the lowest bits its codes use."""
        return 64

    def state_dict(self) -> StateDict:
        """Return nothing."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Do nothing; ValueError if somebody else's state is given."""
        if state:
            raise ValueError(f"saved encoder: there must be no state, got {', '.join(state)}")


class TrainableEncoder(StateEncoder, Protocol):
    """An encoder that learns from minibatches: `vast.model.Tabulator`."""

    steps: int
    """training steps done"""

    @property
    def fitted(self) -> bool:
        """Whether the mean and spread of observations are known."""
        ...

    def encode(self, histories: NDArray[Any], *, newest: bool = False) -> NDArray[np.uint64]:
        """Return states, by the published encoder or by the newest one."""
        ...

    def train(self, batch: Batch) -> Terms[float]:
        """Do one training step."""
        ...

    def train_and_encode(self, batch: Batch) -> tuple[Terms[float], NDArray[np.uint64]]:
        """Do one training step, and return the states of the minibatch's frames."""
        ...

    def publish(self) -> None:
        """Let `encode` use the encoder as it is now, until the next call."""
        ...

    def fit_standardisation(self, observations: NDArray[Any]) -> None:
        """Learn the mean and spread of observations, once."""
        ...


TRAINING = ("steps", "fitted", "train", "train_and_encode", "publish", "fit_standardisation")


def trainable(encoder: StateEncoder) -> TrainableEncoder | None:
    """Return an encoder that has `train` as one to be trained; None for all others.

    UserError if it lacks something that training needs.
    """
    if not hasattr(encoder, "train"):
        return None
    # A property of its class need not be computed to be there.
    kind = type(encoder)
    lacking = [n for n in TRAINING if not hasattr(kind, n) and not hasattr(encoder, n)]
    if lacking:
        raise UserError(
            f"an encoder with train must also have {', '.join(lacking)}, "
            f"got {type(encoder).__name__}"
        )
    return cast("TrainableEncoder", encoder)
