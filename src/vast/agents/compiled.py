"""Numba for the loops that baselines repeat at every step."""

from collections.abc import Callable
from typing import Any, TypeVar

from vast.kernel_cache import FOLDER, cached_njit

F = TypeVar("F", bound=Callable[..., Any])


def compiled(**options: Any) -> Callable[[F], F]:
    """Return a decorator that compiles a function at its first call, and caches it if possible.

    The cache follows the function's own file only: what it calls must be in the same file.
    """

    def decorate(function: F) -> F:
        return cached_njit(function, FOLDER, error_model="numpy", **options)

    return decorate
