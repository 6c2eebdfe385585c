"""What a user did wrong, in one line: the value, what is allowed, the nearest match."""

import re
from collections.abc import Iterable
from difflib import get_close_matches


class UserError(ValueError):
    """A mistake in what the user asked for; the command prints it as one line and exits with 2."""


def unknown(kind: str, value: str, allowed: Iterable[str]) -> UserError:
    """Return the error for a `value` that is none of the `allowed` names of this `kind`."""
    names = sorted(allowed)
    # fig2 for fig1 is not a slip of the finger: who names another number means another thing.
    typos = [name for name in names if _numberless(name) != _numberless(value)]
    near = get_close_matches(value, typos, n=1, cutoff=0.5)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return UserError(f"unknown {kind} {value!r}: allowed are {', '.join(names)}{hint}")


def _numberless(name: str) -> str:
    return re.sub(r"\d+", "#", name)
