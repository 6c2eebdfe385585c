"""Parts that a plain `pip install vast-rl` leaves out, and what to say where one is missing."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import NamedTuple

from vast.errors import UserError


class Extra(NamedTuple):
    """What an extra of the package, such as `vast-rl[doom]`, installs."""

    module: str
    software: str
    """the name that people know it by"""


EXTRAS = {
    "doom": Extra("vizdoom", "ViZDoom"),
    "atari": Extra("ale_py", "the Arcade Learning Environment"),
    "nec": Extra("faiss", "faiss"),
    "ray": Extra("ray", "Ray"),
    "wandb": Extra("wandb", "Weights & Biases"),
}


def is_installed(extra: str) -> bool:
    """Tell whether what an extra installs is there, without importing it."""
    spec = find_spec(EXTRAS[extra].module)
    # A mere folder of that name, such as ./wandb, can be imported, too, but has no file of its own.
    return spec is not None and spec.origin is not None


def missing(extra: str, what: str) -> UserError:
    """Return the error of something that requires an extra which is not installed."""
    return UserError(f"{what} requires {EXTRAS[extra].software}: pip install 'vast-rl[{extra}]'")


def require(extra: str | None, what: str) -> None:
    """Raise UserError if `what` requires an extra that is not installed; None: it requires none."""
    if extra is not None and not is_installed(extra):
        raise missing(extra, what)


@contextmanager
def importing(extra: str, what: str) -> Iterator[None]:
    """Make the import of an extra in this context a UserError if it is not installed."""
    require(extra, what)
    try:
        yield
    except ModuleNotFoundError as error:
        # Installed, but broken, is another matter: its own error says more.
        if (error.name or "").partition(".")[0] != EXTRAS[extra].module:
            raise
        raise missing(extra, what) from error
