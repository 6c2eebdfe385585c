"""The global random generators of Python, NumPy and torch.

Nothing in this package draws from them, but an environment may.
"""

import random
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from vast.training.protocol import StateDict


def seed(number: int) -> None:
    """Seed all three, as a run does that has the process to itself."""
    random.seed(number)
    np.random.seed(number % 2**32)  # noqa: NPY002
    torch.manual_seed(number % 2**63)


def state_dict() -> StateDict:
    """Return the states of the global generators."""
    version, words, gauss = random.getstate()
    name, keys, position, has_gauss, cached = np.random.get_state(legacy=True)  # noqa: NPY002
    return {
        "python": {"version": version, "words": np.array(words, np.uint64), "gauss": gauss},
        "numpy": {
            "name": name,
            "keys": np.asarray(keys),
            "position": position,
            "has_gauss": has_gauss,
            "cached": cached,
        },
        "torch": torch.get_rng_state().numpy().copy(),
    }


def load_state_dict(state: Mapping[str, Any]) -> None:
    """Restore saved states."""
    python, numpy = state["python"], state["numpy"]
    words = tuple(int(word) for word in python["words"])
    random.setstate((python["version"], words, python["gauss"]))
    np.random.set_state(  # noqa: NPY002
        (numpy["name"], numpy["keys"], numpy["position"], numpy["has_gauss"], numpy["cached"])
    )
    torch.set_rng_state(torch.from_numpy(np.array(state["torch"])))
