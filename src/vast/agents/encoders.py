"""The seam for states: what turns observations into the states of a table."""

from collections.abc import Mapping
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from vast.errors import UserError
from vast.model.codes import MAX_BITS
from vast.model.free_energy import Terms
from vast.model.tabulator import Batch
from vast.training.protocol import StateDict


class StateEncoder(Protocol):
    """Maps observations to states.

    It may also have `n_bits`, how many of the lowest bits its codes use, if these are not all 64:
    extensions tag the others. One that has something to save has `state_dict` and
    `load_state_dict`; one that learns, what `TrainableEncoder` has.
    """

    def encode(self, histories: NDArray[Any]) -> NDArray[np.uint64]:
        """Return the states, [N], of frames with the k before them, [N, k + 1, *shape]."""
        ...


def require_encoder(encoder: Any) -> None:
    """Raise UserError unless this can encode."""
    if not callable(getattr(encoder, "encode", None)):
        raise UserError(f"an encoder must have the method encode, got {encoder!r}")


def bits_of(encoder: StateEncoder) -> int:
    """Return how many of the lowest bits an encoder's codes use."""
    return int(getattr(encoder, "n_bits", MAX_BITS))


def saved(encoder: StateEncoder) -> StateDict:
    """Return what an encoder has to save."""
    return encoder.state_dict() if hasattr(encoder, "state_dict") else {}


def restore(encoder: StateEncoder, state: Mapping[str, Any]) -> None:
    """Restore a saved encoder; ValueError if the state does not fit."""
    if hasattr(encoder, "load_state_dict"):
        encoder.load_state_dict(state)
    elif state:
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

    def state_dict(self) -> StateDict:
        """Return what it has learned."""
        ...

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what was learned; ValueError if it does not fit."""
        ...


TRAINING = (
    "steps",
    "fitted",
    "train",
    "train_and_encode",
    "publish",
    "fit_standardisation",
    "state_dict",
    "load_state_dict",
)
"""what an encoder that has `train` needs: without a state, what it learns would be lost"""


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
