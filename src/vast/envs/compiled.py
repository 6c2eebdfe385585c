"""Numba for the few inner loops over pixels."""

from collections.abc import Callable
from typing import Any, TypeVar

import numba

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """Have a function compiled at its first call, and the result kept if there is where."""
    njit: Any = numba.njit
    try:
        dispatcher: F = njit(cache=True)(function)
    except RuntimeError:  # no folder that may be written to
        dispatcher = njit(function)
    return dispatcher
