"""A state as one file without pickles: read back exactly, or refused.

The file is a zip archive. Its `state.json` is the tree of names and values; each array is a member
in NumPy's format, as `np.savez` would write it, and the tree refers to it by number. So names may
be anything, and every byte has a checksum.

In the tree, None, booleans, strings, lists, 64-bit integers and finite floats stand for themselves.
Everything else is an object with one entry, whose name says what it is.
"""

import base64
import json
import math
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from vast.training.protocol import StateDict

TREE = "state.json"
KINDS = "biufcU"
"""booleans, integers, floats, complex numbers and strings; no objects, so no pickles"""


def write_state(file: IO[bytes], state: StateDict) -> None:
    """Write a state; TypeError, and nothing written, if part of it cannot be saved."""
    arrays: list[NDArray[Any]] = []
    tree = json.dumps(_encode(state, "state", arrays), allow_nan=False)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo(TREE), tree)
        for index, array in enumerate(arrays):
            # Without a date, which a clock before 1980 could not give.
            with archive.open(zipfile.ZipInfo(_member(index)), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def read_state(path: Path | IO[bytes]) -> StateDict:
    """Read a state; ValueError if the file is damaged, OSError if it cannot be read."""
    try:
        with zipfile.ZipFile(path) as archive:
            tree = json.loads(archive.read(TREE))
            state = _decode(tree, _Arrays(archive).read)
    except OSError:
        raise
    except MemoryError:
        raise ValueError("it is damaged or larger than the memory") from None
    except Exception as error:
        # Zip, JSON and NumPy each have their own errors for damaged bytes.
        raise ValueError("it is damaged") from error
    if not isinstance(state, dict):
        raise ValueError("it is damaged")
    return state


def _member(index: int) -> str:
    return f"{index}.npy"


class _Arrays:
    """The arrays of an archive, each of which is read once: a state is no larger than its file."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._seen: set[int] = set()

    def read(self, index: int) -> NDArray[Any]:
        """Return an array by its number."""
        if index in self._seen:
            raise ValueError("an array that stands in two places")
        self._seen.add(index)
        with self._archive.open(_member(index)) as member:
            array: NDArray[Any] = np.lib.format.read_array(member, allow_pickle=False)
            if member.read(1):
                raise ValueError("more bytes than numbers")
        return array


def _encode(value: Any, path: str, arrays: list[NDArray[Any]]) -> Any:
    """Return a value as JSON; append its arrays to `arrays`."""
    # np.float64 is a float and np.str_ a string to Python: NumPy's own types come first.
    if isinstance(value, np.str_):
        # As an array, or by NumPy's `str`, it would lose the zero characters at its end.
        return {"numpy_text": str.__str__(value)}
    if isinstance(value, np.generic) or type(value) is np.ndarray:
        if value.dtype.kind not in KINDS:
            raise TypeError(f"{path}: cannot save NumPy's type {value.dtype}")
        arrays.append(np.asarray(value))
        return {"array" if isinstance(value, np.ndarray) else "scalar": len(arrays) - 1}
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"{path}: names are strings, not {key!r}")
        return {"dict": {key: _encode(value[key], f"{path}[{key!r}]", arrays) for key in value}}
    if isinstance(value, list | tuple):
        return [_encode(item, f"{path}[{i}]", arrays) for i, item in enumerate(value)]
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        # Hexadecimal, for Python refuses decimal numbers of many digits, and others round them.
        return int(value) if -(1 << 63) <= value < 1 << 63 else {"int": hex(value)}
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"float": repr(float(value))}
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode("ascii")}
    raise TypeError(f"{path}: cannot save a {type(value).__name__}")


def _decode(tree: Any, array: Callable[[int], NDArray[Any]]) -> Any:
    if isinstance(tree, list):
        return [_decode(item, array) for item in tree]
    if not isinstance(tree, dict):
        return tree
    ((kind, value),) = tree.items()
    match kind:
        case "dict":
            return {key: _decode(item, array) for key, item in value.items()}
        case "array":
            return array(value)
        case "scalar":
            return array(value)[()]
        case "int":
            return int(value, 16)
        case "float":
            return float(value)
        case "bytes":
            return base64.b64decode(value, validate=True)
        case "numpy_text":
            return np.str_(value)
    raise ValueError(f"unknown kind {kind!r}")
