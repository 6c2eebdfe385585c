"""Environments by their Gymnasium id; an unknown one gets one line with the nearest match."""

from difflib import get_close_matches
from typing import Any

import gymnasium

from vast.errors import UserError
from vast.extras import EXTRAS, missing

Env = gymnasium.Env[Any, Any]


def made(env_id: str, **options: Any) -> Env:
    """Return a registered environment; UserError if there is none, or if it cannot be made.

    As Gymnasium does, it takes "module:ID" for an id that importing a module registers.
    """
    try:
        return gymnasium.make(env_id, **options)
    except UserError:
        raise
    except Exception as error:  # of Gymnasium, or whatever somebody's own constructor raises
        registered = env_id.rpartition(":")[2] in gymnasium.registry
        if isinstance(error, gymnasium.error.Error) and not registered:
            raise _unknown(env_id) from error
        for extra, (module, _) in EXTRAS.items():
            if _lacks(error, module):
                raise missing(extra, f"the environment {env_id}") from error
        raise UserError(f"cannot make the environment {env_id}: {_line(error)}") from error


def _unknown(env_id: str) -> UserError:
    """Return the error for an id that nobody has registered; its version and namespace may lack."""
    known = {name.rpartition("/")[2].lower(): name for name in gymnasium.registry}
    known |= {name.lower(): name for name in gymnasium.registry}
    near = get_close_matches(env_id.lower(), known, n=1, cutoff=0.6)
    hint = f"; did you mean {known[near[0]]!r}?" if near else ""
    return UserError(
        f"unknown environment {env_id!r}: must be the id of a registered Gymnasium environment"
        f"{hint}"
    )


def _lacks(error: BaseException, module: str) -> bool:
    """Tell whether a module that is not installed is why something failed."""
    cause = error.__cause__ or error  # Gymnasium raises an error of its own for a module of an id
    return isinstance(cause, ModuleNotFoundError) and cause.name == module


def _line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
