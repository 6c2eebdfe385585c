"""Configs as plain JSON and back, every name and type checked."""

import dataclasses
import types
import typing
from collections.abc import Mapping
from typing import Any, Literal, TypeVar, Union

from vast.errors import UserError, unknown

C = TypeVar("C")


def to_plain(config: Any) -> Any:
    """Return a config as dictionaries, lists and plain values."""
    if dataclasses.is_dataclass(config):
        return {f.name: to_plain(getattr(config, f.name)) for f in dataclasses.fields(config)}
    return list(config) if isinstance(config, tuple) else config


def from_plain(kind: type[C], plain: Any, where: str = "") -> C:
    """Return a config of this class; fields that are missing have their defaults.

    UserError, in one line, for a field that does not exist or a value that does not fit.
    """
    if not isinstance(plain, Mapping):
        raise UserError(f"{where or 'config'} {plain!r}: allowed is a dictionary of fields")
    hints = typing.get_type_hints(kind)
    values = {}
    for name, value in plain.items():
        if name not in hints:
            raise unknown(f"config field {where}".rstrip(), name, hints)
        values[name] = _value(hints[name], value, f"{where}.{name}".lstrip("."))
    return kind(**values)


def _value(hint: Any, value: Any, where: str) -> Any:
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return from_plain(hint, value, where)
    converted = _converted(hint, value)
    if converted is _REFUSED:
        raise UserError(f"{where} {value!r}: allowed is {_words(hint)}")
    return converted


_REFUSED = object()


def _converted(hint: Any, value: Any) -> Any:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (Union, types.UnionType):
        fits = (_converted(each, value) for each in arguments)
        return next((each for each in fits if each is not _REFUSED), _REFUSED)
    if origin is Literal:
        return value if value in arguments else _REFUSED
    if origin is tuple:
        return _converted_tuple(arguments, value)
    if hint is type(None):
        return value if value is None else _REFUSED
    if hint is float and type(value) in (int, float):
        return float(value)
    return value if hint is Any or type(value) is hint else _REFUSED


def _converted_tuple(arguments: tuple[Any, ...], value: Any) -> Any:
    if not isinstance(value, list | tuple):
        return _REFUSED
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        arguments = (arguments[0],) * len(value)
    if len(arguments) != len(value):
        return _REFUSED
    parts = tuple(_converted(hint, part) for hint, part in zip(arguments, value, strict=True))
    return _REFUSED if any(part is _REFUSED for part in parts) else parts


def _words(hint: Any) -> str:
    if typing.get_origin(hint) is Literal:
        return ", ".join(map(repr, typing.get_args(hint)))
    return hint.__name__ if isinstance(hint, type) else str(hint)


def first_difference(one: Any, other: Any, where: str = "") -> str | None:
    """Return the first field in which two plain configs differ, with both values, or None."""
    if isinstance(one, dict) and isinstance(other, dict):
        for name in {**one, **other}:
            inside = f"{where}.{name}".lstrip(".")
            found = first_difference(one.get(name), other.get(name), inside)
            if found is not None:
                return found
        return None
    return None if one == other else f"{where} is {one!r} there and {other!r} here"
