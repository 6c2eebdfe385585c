"""Which of Gymnasium's wrappers make an environment one that an agent can learn in.

Each hint is an expression of `env`, with the names of `gymnasium.wrappers` and `gymnasium.spaces`.
"""

import math
from typing import Any

import numpy as np
from gymnasium import spaces

from vast.replay.episodes import MAX_ACTIONS

BINS = 5
"""values of each continuous action that are tried: few, because their number is a power of this"""


def hint(expression: str | None) -> str:
    """Return the end of an error that tells how to wrap the environment, if there is a way."""
    return f"; wrap it: {expression}" if expression else ""


def observation_wrapper(space: spaces.Space[Any]) -> str | None:
    """Return how to make these observations vectors of floats, or images of bytes."""
    if not space.is_np_flattenable:
        return None
    if isinstance(space, spaces.Box) and space.dtype == np.uint8 and len(space.shape) == 2:
        return f"ReshapeObservation(env, {(*space.shape, 1)})"
    flat = isinstance(space, spaces.Box) and len(space.shape) == 1
    expression = "env" if flat else "FlattenObservation(env)"
    floats = np.issubdtype(spaces.utils.flatten_space(space).dtype, np.floating)
    return expression if floats else f"DtypeObservation({expression}, 'float32')"


def channels_last_wrapper(space: spaces.Box) -> str:
    """Return how to move the channels of images to the end."""
    channels, rows, columns = space.shape
    return (
        "TransformObservation(env, lambda image: image.transpose(1, 2, 0), "
        f"Box(0, 255, {(rows, columns, channels)}, 'uint8'))"
    )


def action_wrapper(space: spaces.Space[Any]) -> str | None:
    """Return how to make these actions discrete, if they are not too many then."""
    if isinstance(space, spaces.Box) and space.is_bounded() and _few(space.shape):
        return f"DiscretizeAction(env, {BINS})"
    if isinstance(space, spaces.MultiDiscrete) and space.nvec.ndim == 1 and not space.start.any():
        sizes = tuple(space.nvec.tolist())
        n = math.prod(sizes)
        unravelled = f"lambda action: numpy.array(numpy.unravel_index(action, {sizes}))"
        return f"TransformAction(env, {unravelled}, Discrete({n}))" if n <= MAX_ACTIONS else None
    if isinstance(space, spaces.Discrete) and space.n <= MAX_ACTIONS:
        moved = f"lambda action: action + {int(space.start)}"
        return f"TransformAction(env, {moved}, Discrete({int(space.n)}))"
    return None


def _few(shape: tuple[int, ...]) -> bool:
    """Tell whether there are not too many combinations of `BINS` values each."""
    combinations: int = BINS ** math.prod(shape)
    return combinations <= MAX_ACTIONS


def one_line(space: spaces.Space[Any]) -> str:
    """Return how a space prints, in one line: long bounds would break it."""
    return " ".join(str(space).split())
