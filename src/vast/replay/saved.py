"""Reading what was saved; it may come from anywhere and is checked before it is believed."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


def as_number(saved: Mapping[str, Any], name: str) -> int:
    """Return a saved integer; np.savez makes an array without dimensions of it."""
    value = np.asarray(saved.get(name))
    if value.ndim != 0 or value.dtype.kind not in "iub":
        raise ValueError(f"saved replay: {name} is missing or is no integer")
    return int(value)


def as_array(saved: Mapping[str, Any], name: str, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return a saved array of this type."""
    value = saved.get(name)
    if not isinstance(value, np.ndarray) or value.dtype != dtype or value.ndim < 1:
        raise ValueError(f"saved replay: {name} is missing or is no array of type {dtype}")
    return value


def require(sound: bool | np.bool_, name: str) -> None:
    """Raise the error of a saved replay that contradicts itself."""
    if not sound:
        raise ValueError(f"saved replay: {name} does not fit the rest; the file is damaged")
