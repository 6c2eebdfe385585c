"""Validation of hyperparameters: one line that names the value and what it must be."""

import math
from collections.abc import Iterable

from vast.errors import UserError, unknown

LARGEST = 2**40
"""of a capacity: more than any memory has, and small enough for every sum of sizes"""


def at_least(low: int, **values: int) -> None:
    """Raise UserError if one of these integers is smaller."""
    for name, value in values.items():
        if value < low:
            raise UserError(f"{name} must be at least {low}, got {value}")


def fits(**values: int) -> None:
    """Raise UserError for capacities that no memory has."""
    for name, value in values.items():
        if value > LARGEST:
            raise UserError(f"{name} must be at most {LARGEST}, got {value}")


def positive(**values: float | None) -> None:
    """Raise UserError unless these are finite and above 0; None is left alone."""
    for name, value in values.items():
        if value is not None and not (value > 0 and math.isfinite(value)):
            raise UserError(f"{name} must be finite and above 0, got {value}")


def between(low: int, high: int, **values: int) -> None:
    """Raise UserError unless these integers are between two others, both included."""
    for name, value in values.items():
        if not low <= value <= high:
            raise UserError(f"{name} must be between {low} and {high}, got {value}")


def not_negative(**values: float | None) -> None:
    """Raise UserError unless these are finite and 0 or more; None is left alone."""
    for name, value in values.items():
        if value is not None and not 0 <= value < math.inf:
            raise UserError(f"{name} must be finite and 0 or more, got {value}")


def finite(**values: float) -> None:
    """Raise UserError unless these are finite."""
    for name, value in values.items():
        if not math.isfinite(value):
            raise UserError(f"{name} must be finite, got {value}")


def fraction(**values: float) -> None:
    """Raise UserError unless these are between 0 and 1, both included."""
    for name, value in values.items():
        if not 0 <= value <= 1:
            raise UserError(f"{name} must be between 0 and 1, got {value}")


def below_one(**values: float) -> None:
    """Raise UserError unless these are at least 0 and below 1, as a discount factor must be."""
    for name, value in values.items():
        if not 0 <= value < 1:
            raise UserError(f"{name} must be at least 0 and below 1, got {value}")


def one_of(choices: Iterable[str], **values: str) -> None:
    """Raise UserError unless these are among the choices."""
    choices = tuple(choices)
    for name, value in values.items():
        if value not in choices:
            raise unknown(name, value, choices)
