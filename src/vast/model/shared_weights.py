"""A tabulator whose weights lie in memory that is given: two processes can work on the same ones.

Everything that training changes is in there: weights, moments of the optimiser, averages, the state
of the random generator and the number of steps. So whoever is not training at the moment sees what
the other one has learned, without a copy, and can save it.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vast.model import network_state
from vast.model.tabulator import Tabulator

STEPS, GENERATOR = "steps", "generator"
TYPES = {torch.float32: np.float32, torch.float64: np.float64, torch.bool: np.bool_}
"""of tensors, as arrays"""


class SharedWeights:
    """The state of a tabulator in arrays that may be shared."""

    def __init__(self, tabulator: Tabulator) -> None:
        assert tabulator.on_cpu
        self._tabulator = tabulator
        self._arrays: Mapping[str, NDArray[Any]] = {}

    def layout(self) -> dict[str, tuple[tuple[int, ...], Any]]:
        """Return the shapes and types of the arrays that are needed."""
        state = self._tabulator.generator.get_state()
        tensors = self._tabulator.trained_tensors()
        return {
            STEPS: ((), np.int64),
            GENERATOR: (tuple(state.shape), np.uint8),
            **{name: ((each.numel(),), TYPES[each.dtype]) for name, each in tensors.items()},
        }

    def move_into(self, arrays: Mapping[str, NDArray[Any]], *, keep: bool) -> None:
        """Let the tabulator work in these arrays from now on.

        `keep`: they get its weights, not the other way round.
        """
        self._arrays = arrays
        for name, tensor in self._tabulator.trained_tensors().items():
            # Some are stored in another order than their indices suggest.
            there: Tensor = torch.from_numpy(arrays[name]).as_strided(tensor.shape, tensor.stride())
            if keep:
                there.copy_(tensor.detach())
            tensor.data = there
        if keep:
            self.store()

    def store(self) -> None:
        """Let the other one know the number of steps and the random generator."""
        self._arrays[STEPS][...] = self._tabulator.steps
        self._arrays[GENERATOR][...] = network_state.array(self._tabulator.generator.get_state())

    def load(self) -> None:
        """Go on where the other one stopped."""
        self._tabulator.steps = int(self._arrays[STEPS])
        state = torch.from_numpy(self._arrays[GENERATOR].copy())
        self._tabulator.generator.set_state(state)
