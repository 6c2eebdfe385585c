"""Numbers of a config, checked: one line that names the value and what is allowed."""

import math

from vast.errors import UserError


def at_least(low: int, **numbers: int) -> None:
    """Raise UserError if one of these whole numbers is smaller."""
    for name, number in numbers.items():
        if number < low:
            raise UserError(f"{name} {number}: allowed is {low} or more")


def positive(**numbers: float) -> None:
    """Raise UserError unless these are finite and above 0."""
    for name, number in numbers.items():
        if not (number > 0 and math.isfinite(number)):
            raise UserError(f"{name} {number}: allowed are finite numbers above 0")


def share(**numbers: float) -> None:
    """Raise UserError unless these are between 0 and 1, both included."""
    for name, number in numbers.items():
        if not 0 <= number <= 1:
            raise UserError(f"{name} {number}: allowed is 0 to 1")


def discounted(discount: float) -> None:
    """Raise UserError unless this can be a discount factor."""
    if not 0 <= discount < 1:
        raise UserError(f"discount {discount}: allowed is 0 to below 1")
