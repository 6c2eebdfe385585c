"""Configs as plain JSON and back, and with some fields changed; every name and type is checked."""

import dataclasses
import sys
import types
import typing
from collections.abc import Mapping
from typing import Any, Literal, TypeVar, Union

from vast.errors import UserError, unknown

C = TypeVar("C")


def to_plain(config: Any, *, full: bool = False) -> Any:
    """Return a config as dictionaries, lists and plain values.

    A config that sets `plain_omits_defaults` shows only the fields that differ from its defaults,
    which are off, unless it is to be shown in `full`.
    """
    if dataclasses.is_dataclass(config):
        fields = dataclasses.fields(config)
        if getattr(config, "plain_omits_defaults", False) and not full:
            fields = tuple(f for f in fields if getattr(config, f.name) != f.default)
        return {f.name: to_plain(getattr(config, f.name), full=full) for f in fields}
    if isinstance(config, tuple):
        return [to_plain(each, full=full) for each in config]
    return config


def from_plain(kind: type[C], plain: Any, where: str = "") -> C:
    """Return a config of this class; missing fields have their defaults.

    UserError, in one line, for a field that does not exist or a value of the wrong type.
    """
    if not isinstance(plain, Mapping):
        raise UserError(f"{where or 'config'} must be a dictionary of fields, got {plain!r}")
    hints = _hints(kind)
    values = {}
    for name, value in plain.items():
        if name not in hints:
            raise unknown(f"config field {where}".rstrip(), name, hints)
        values[name] = _value(hints[name], value, f"{where}.{name}".lstrip("."))
    return kind(**values)


def _hints(kind: type[Any]) -> dict[str, Any]:
    """Return the fields of a config and their types."""
    hints = typing.get_type_hints(kind)
    return {field.name: hints[field.name] for field in dataclasses.fields(kind)}


def _value(hint: Any, value: Any, where: str) -> Any:
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        if isinstance(value, hint):
            return value
        return from_plain(hint, {} if value in ((), []) else value, where)
    converted = _converted(hint, value)
    if converted is _REFUSED:
        raise UserError(f"{where} must be {_words(hint)}, got {value!r}")
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
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return from_plain(hint, value) if isinstance(value, Mapping) else _REFUSED
    if hint is type(None):
        return value if value is None else _REFUSED
    if hint is float and type(value) in (int, float):
        return _REFUSED if type(value) is int and abs(value) > sys.float_info.max else float(value)
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
        return "one of " + ", ".join(map(repr, typing.get_args(hint)))
    return hint.__name__ if isinstance(hint, type) else str(hint)


def with_changes(config: C, changes: Mapping[str, Any], where: str = "") -> C:
    """Return a config with other values of some fields, named by dotted paths.

    `with_changes(config, {"model.n_bits": 16})`. `()` in place of a part stands for its defaults.
    All changes of one part are made together, then validated. UserError for a field that does not
    exist or a value of the wrong type.
    """
    if not dataclasses.is_dataclass(config) or isinstance(config, type):
        raise UserError(f"{where} has no fields, got {', '.join(changes)}")
    hints = _hints(type(config))
    own: dict[str, Any] = {}
    inside: dict[str, dict[str, Any]] = {}
    for path, value in changes.items():
        name, dot, rest = path.partition(".")
        if name not in hints:
            raise unknown(f"config field {where}".rstrip(), name, hints)
        if dot:
            inside.setdefault(name, {})[rest] = value
        else:
            own[name] = _value(hints[name], value, f"{where}.{name}".lstrip("."))
    for name, part in inside.items():
        before = own.get(name, getattr(config, name))
        own[name] = with_changes(before, part, f"{where}.{name}".lstrip("."))
    changed: C = dataclasses.replace(config, **own)
    return changed


def first_difference(one: Any, other: Any, where: str = "") -> str | None:
    """Return the first field in which two plain configs differ, with both values; None if none."""
    if isinstance(one, dict) and isinstance(other, dict):
        for name in {**one, **other}:
            inside = f"{where}.{name}".lstrip(".")
            found = first_difference(one.get(name), other.get(name), inside)
            if found is not None:
                return found
        return None
    return None if one == other else f"{where} is {one!r} there, {other!r} here"
