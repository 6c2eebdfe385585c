"""What page and server say to each other.

The page sends JSON objects: `do` names a request, and each request has fixed fields of fixed types,
checked here. There are no paths and no code among them. The server answers with JSON, or with
binary messages: the length of a JSON header (4 bytes), the header, and arrays, each at a multiple
of 8 bytes.
"""

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vast.errors import UserError, unknown
from vast.explorer.edits import Block, Discount, Edit, Paint, Reverse, Shortcut
from vast.explorer.what_if import MAX_EDITS

MAX_MESSAGE = 256 * 1024
"""bytes of a message from the page, at most"""
MAX_POINTS = 2000
"""of one stroke of the brush"""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,63}")

Check = Callable[[Any], Any]


def _fail(what: str) -> UserError:
    return UserError(f"refused: {what}")


def number(value: Any) -> float:
    """Return a finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise _fail("a number must be finite")
    return float(value)


def whole(value: Any) -> int:
    """Return a whole number of 0 or more."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**53:
        raise _fail("a whole number must be 0 or more")
    return value


def flag(value: Any) -> bool:
    """Return a boolean."""
    if not isinstance(value, bool):
        raise _fail("a flag must be true or false")
    return value


def name(value: Any) -> str:
    """Return the name of a file, which cannot be a path."""
    if not isinstance(value, str) or NAME.fullmatch(value) is None or ".." in value:
        raise UserError("a name must be letters, digits, spaces, '.', '_' and '-', at most 64")
    return value


def word(*allowed: str) -> Check:
    """Return a check for one of a few words."""

    def check(value: Any) -> str:
        if not isinstance(value, str) or value not in allowed:
            raise _fail(f"a word must be one of {', '.join(allowed)}")
        return value

    return check


def plain_word(value: Any) -> str:
    """Return a short word of letters, digits and dashes."""
    if not isinstance(value, str) or re.fullmatch(r"[\w-]{1,64}", value) is None:
        raise _fail("a word must be letters, digits and dashes")
    return value


def optional(check: Check) -> Check:
    """Return a check that also accepts null."""
    return lambda value: None if value is None else check(value)


def point(value: Any) -> tuple[float, float]:
    """Return a place on the map."""
    if not isinstance(value, list) or len(value) != 2:
        raise _fail("a point must be two numbers")
    return number(value[0]), number(value[1])


def points(value: Any) -> tuple[tuple[float, float], ...]:
    """Return the points of a stroke."""
    if not isinstance(value, list) or not 1 <= len(value) <= MAX_POINTS:
        raise _fail(f"a stroke must have 1 to {MAX_POINTS} points")
    return tuple(point(each) for each in value)


EDITS: dict[str, dict[str, Check]] = {
    "paint": {"points": points, "radius": number, "reward": number, "ends": flag},
    "block": {"start": point, "end": point},
    "shortcut": {"start": point, "end": point, "radius": number, "action": whole},
    "reverse": {},
    "discount": {"discount": number},
    "run": {"name": plain_word},
}
"""the edits by name, and their fields"""

MADE: dict[str, Callable[..., Edit]] = {
    "paint": Paint,
    "block": Block,
    "shortcut": Shortcut,
    "reverse": Reverse,
    "discount": Discount,
}
"""those that need nothing but their fields; a forced run must be driven"""

Asked = tuple[str, dict[str, Any]]
"""the name of an edit, and its fields"""


def edit(value: Any) -> Asked:
    """Return an edit, checked."""
    return _fields_of(value, EDITS, "edit")


def edits(value: Any) -> list[Asked]:
    """Return a list of edits, checked."""
    if not isinstance(value, list) or len(value) > MAX_EDITS:
        raise _fail(f"edits must be a list of at most {MAX_EDITS}")
    return [edit(each) for each in value]


REQUESTS: dict[str, dict[str, Check]] = {
    "hello": {},
    "inspect": {"row": whole},
    "frames": {"row": whole, "start": whole},
    "path": {"row": whole},
    "edit": {"edit": edit},
    "undo": {},
    "redo": {},
    "reset": {},
    "load": {"kept": edits, "edits": edits},
    "keep": {},
    "pace": {"visible": flag},
    "drawn": {},
    "slow": {"source": word("edit", "nothing")},
    "export": {"kind": word("csv", "npz")},
    "save": {"name": name},
    "drive": {"start": flag},
    "step": {"action": optional(whole), "by": word("agent", "what-if")},
}
"""what a page may ask, and the fields of each request"""


class Malformed(UserError):
    """A message that no page sends: the connection is closed."""


def read_request(text: str | bytes) -> tuple[int, dict[str, Any]]:
    """Return the number of a request and the rest of it, unchecked; Malformed if there is none."""
    try:
        message = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        message = None
    if not isinstance(message, dict) or "id" not in message:
        raise Malformed("a request must be a JSON object with an id")
    try:
        return whole(message.pop("id")), message
    except UserError:
        raise Malformed("the id of a request must be a whole number") from None


def request(message: dict[str, Any]) -> Asked:
    """Return the name and the fields of a request, checked; UserError if it is not one."""
    return _fields_of(message, REQUESTS, "request")


def _fields_of(value: Any, known: Mapping[str, Mapping[str, Check]], kind: str) -> Asked:
    """Return the name in `do` and the other fields, each checked; all must be there."""
    if not isinstance(value, dict) or not isinstance(value.get("do"), str):
        raise _fail(f"a {kind} must be an object that says what to do")
    what = value["do"]
    if what not in known:
        raise unknown(kind, what[:40], known)
    given, wanted = value.keys() - {"do"}, known[what].keys()
    if given != wanted:
        raise _fail(f"{what} must have the fields {', '.join(wanted) or 'of none'}")
    return what, {field: check(value[field]) for field, check in known[what].items()}


def edit_as_json(made: Edit) -> dict[str, Any]:
    """Return an edit as it was asked for."""
    for kind, maker in MADE.items():
        if type(made) is maker:
            return {"do": kind, **asdict(made)}  # type: ignore[call-overload]
    return {"do": "run", "name": made.name}  # type: ignore[attr-defined]


def as_text(message: Mapping[str, Any]) -> str:
    """Return a message as JSON; numbers that are not finite become null."""
    return json.dumps(_finite(message), allow_nan=False, separators=(",", ":"))


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value


def as_binary(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Return a message with arrays."""
    pieces, at, listed = [], 0, []
    for called, array in arrays.items():
        little = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
        listed.append([called, array.dtype.name, list(array.shape), at])
        pad = -little.nbytes % ALIGNED
        pieces += [little.tobytes(), bytes(pad)]
        at += little.nbytes + pad
    text = as_text({**header, "arrays": listed}).encode()
    text += b" " * (-(4 + len(text)) % ALIGNED)
    return b"".join([len(text).to_bytes(4, "little"), text, *pieces])


ALIGNED = 8
