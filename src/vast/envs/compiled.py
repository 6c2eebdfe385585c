"""Numba for the few loops over pixels."""

from collections.abc import Callable
from typing import Any, TypeVar

from vast.kernel_cache import FOLDER, cached_njit

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """Compile a function at its first call, and cache the result on disk if possible."""
    return cached_njit(function, FOLDER)
