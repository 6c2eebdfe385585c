"""Errors for wrong input, in one line: the value, what it must be, and the closest match."""

import re
from collections.abc import Iterable
from difflib import get_close_matches


class UserError(ValueError):
    """Wrong input by the user; the command prints it as one line and exits with code 2."""


def unknown(kind: str, value: str, allowed: Iterable[str]) -> UserError:
    """Return the error for a `value` that is not one of the `allowed` names of this `kind`."""
    names = sorted(allowed)
    # fig2 is not a typo of fig1: a different number means something else.
    typos = [name for name in names if _numberless(name) != _numberless(value)]
    near = get_close_matches(value, typos, n=1, cutoff=0.5)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return UserError(f"unknown {kind} {value!r}: must be one of {', '.join(names)}{hint}")


def _numberless(name: str) -> str:
    return re.sub(r"\d+", "#", name)
