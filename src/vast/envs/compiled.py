"""Numba for the few loops over pixels."""

from collections.abc import Callable
from typing import Any, TypeVar

import numba

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """Compile a function at its first call, and cache the result on disk if possible."""
    njit: Any = numba.njit
    try:
        dispatcher: F = njit(cache=True)(function)
    except RuntimeError:  # no writable cache folder
        dispatcher = njit(function)
    return dispatcher
