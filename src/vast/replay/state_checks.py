"""Checks of a saved replay, which may come from anywhere, before it is used."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


def as_number(saved: Mapping[str, Any], name: str) -> int:
    """Return a saved integer; np.savez turns it into an array without dimensions."""
    value = np.asarray(saved.get(name))
    if value.ndim != 0 or value.dtype.kind not in "iub":
        raise ValueError(f"saved replay: {name} is missing or not an integer")
    return int(value)


def as_array(saved: Mapping[str, Any], name: str, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return a saved array of this type."""
    value = saved.get(name)
    if not isinstance(value, np.ndarray) or value.dtype != dtype or value.ndim < 1:
        raise ValueError(f"saved replay: {name} is missing or not an array of type {dtype}")
    return value


def require(sound: bool | np.bool_, name: str) -> None:
    """Raise ValueError unless the saved array `name` is consistent with the rest."""
    if not sound:
        raise ValueError(f"saved replay: {name} contradicts the rest; the file is damaged")
