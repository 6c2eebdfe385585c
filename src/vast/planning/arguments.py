"""Checks of a table's arguments: each is converted, or refused with a one-line ValueError."""

import math
import operator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Columns = tuple[
    NDArray[np.uint64],
    NDArray[np.uint8],
    NDArray[np.float64],
    NDArray[np.uint64],
    NDArray[np.bool_],
]
"""states, actions, rewards, next states and terminals of several transitions"""


MAX_VALUE = 1e54
"""the carry of a value above 2**181 = 3e54 would overflow (see `largest_reward`)"""
MAX_DELETED = 1e100
"""a saved table may hold rewards above today's bound; they can still be deleted"""


def largest_reward(discount: float) -> float:
    """Return the largest reward for which a table with this discount holds the right values.

    A value is at most E[r|s,a] / (1 - discount), and E[r|s,a] at most three times the largest
    reward: up to one from the mean, two from the offset of `set_reward`. The rounding error of a
    value is up to 2**-54 of the next power of 2, and is stored in 32 bits, which end at 2**128.
    """
    return MAX_VALUE * (1 - discount)


def as_columns(
    n_actions: int,
    max_reward: float,
    states: ArrayLike,
    actions: ArrayLike,
    rewards: ArrayLike,
    next_states: ArrayLike,
    terminals: ArrayLike,
) -> Columns:
    """Return transitions as arrays of equal length."""
    columns = (
        as_keys(states),
        _as_actions(n_actions, actions),
        _as_rewards(rewards, max_reward),
        as_keys(next_states),
        _as_flags(terminals),
    )
    if len({column.shape for column in columns}) != 1:
        raise ValueError(
            "states, actions, rewards, next_states and terminals must be lists of the same length, "
            f"got shapes {', '.join(str(column.shape) for column in columns)}"
        )
    return columns


def as_key(state: int) -> int:
    """Return a state as an unsigned 64-bit integer."""
    k = as_integer("state", state)
    if not 0 <= k < 1 << 64:
        raise ValueError(f"state must be between 0 and 2**64 - 1, got {k}")
    return k


def as_keys(states: ArrayLike) -> NDArray[np.uint64]:
    """Return states as an array of unsigned 64-bit integers."""
    if isinstance(states, list | tuple):  # NumPy would turn a mix of large and small into floats
        states = np.array([as_key(state) for state in states], np.uint64)
    array = _integers("states", states)
    if array.ndim != 1:
        raise ValueError(f"states must be a one-dimensional list, got shape {array.shape}")
    if array.dtype.kind == "i" and array.size and array.min() < 0:
        raise ValueError(f"state must be between 0 and 2**64 - 1, got {array.min()}")
    return np.ascontiguousarray(array, np.uint64)


def as_action(n_actions: int, action: int) -> int:
    """Return an action as an integer below `n_actions`."""
    a = as_integer("action", action)
    if not 0 <= a < n_actions:
        raise ValueError(f"action must be between 0 and {n_actions - 1}, got {a}")
    return a


def as_reward(reward: float, most: float) -> float:
    """Return a reward as a float of at most this size."""
    try:
        number = float(reward)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not abs(number) <= most:
        raise ValueError(f"reward must be a finite number up to {most:g}, got {reward!r}")
    return number


def as_integer(name: str, value: int) -> int:
    """Return a value as a Python integer."""
    try:
        return operator.index(value)
    except TypeError:
        raise ValueError(f"{name} must be an integer, got {value!r}") from None


def _as_actions(n_actions: int, actions: ArrayLike) -> NDArray[np.uint8]:
    array = _integers("actions", actions)
    wrong = (array < 0) | (array >= n_actions)
    if wrong.any():
        raise ValueError(f"action must be between 0 and {n_actions - 1}, got {array[wrong][0]}")
    return np.ascontiguousarray(array, np.uint8)


def _as_rewards(rewards: ArrayLike, most: float) -> NDArray[np.float64]:
    try:
        array = np.ascontiguousarray(rewards, np.float64)
    except (TypeError, ValueError, OverflowError):
        array = np.array([as_reward(reward, most) for reward in np.asarray(rewards, object).flat])
    fine = np.abs(array) <= most
    if not fine.all():
        as_reward(float(array[~fine][0]), most)
    return array


def _as_flags(terminals: ArrayLike) -> NDArray[np.bool_]:
    array = np.asarray(terminals)
    if array.size and array.dtype.kind not in "biu":
        raise ValueError(f"terminals must be True or False, got type {array.dtype}")
    return np.ascontiguousarray(array, np.bool_)


def _integers(name: str, values: ArrayLike) -> NDArray[Any]:
    array = np.asarray(values)
    if array.size == 0:
        array = array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise ValueError(f"{name} must be integers of up to 64 bits, got type {array.dtype}")
    return array
