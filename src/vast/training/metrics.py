"""The metrics of a run as JSON lines and, where TensorBoard is installed, as its events."""

import json
import math
import os
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from vast.errors import UserError

CLOCKS = ("step", "wall_seconds")
"""what says when a row was measured"""


class MetricsLog:
    """A file to which rows are appended, one JSON object per line, each written at once.

    A row that a killed process did not finish is removed. The same values go to the folder
    `events` beside the file if TensorBoard is installed.
    """

    def __init__(self, path: Path) -> None:
        self.path = Path(path)
        self._events = TensorBoardEvents(self.path.parent / "events")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # Unbuffered: a row is in the file as soon as it is written.
            self._file = self.path.open("a+b", buffering=0)
            self._file.seek(0)
            self._file.truncate(_end_of_rows(self._file.read()))
        except OSError as error:
            raise UserError(f"cannot write {self.path}: {error.strerror}") from error
        self._offset = self._file.seek(0, os.SEEK_END)

    @property
    def offset(self) -> int:
        """The length in bytes of the rows so far; a checkpoint stores it."""
        return self._offset

    def write(self, row: Mapping[str, float]) -> None:
        """Append a row, with `step` and `wall_seconds`. What is not finite is written as null."""
        step = int(row["step"])
        line = json.dumps({key: _number(row[key]) for key in row}, allow_nan=False) + "\n"
        self._append(line.encode())
        self._events.write(step, {key: float(row[key]) for key in row if key not in CLOCKS})

    def sync(self) -> int:
        """Wait until all rows are on disk, as a checkpoint relies on them; return `offset`."""
        try:
            os.fsync(self._file.fileno())
        except OSError as error:
            raise UserError(f"cannot write {self.path}: {error.strerror}") from error
        return self._offset

    def rewind(self, offset: int) -> None:
        """Remove the rows after `offset`: the run continues from a checkpoint made there.

        UserError, and nothing changed, if the file is shorter or no row ends there.
        """
        steps = [row["step"] for row in check_rows(self.path, offset)]
        self._file.truncate(offset)
        self._offset = self._file.seek(0, os.SEEK_END)
        self._events.rewind(steps[-1] + 1 if steps else 0)

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        self._events.close()

    def __enter__(self) -> "MetricsLog":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _append(self, line: bytes) -> None:
        try:
            left = memoryview(line)
            while left:
                left = left[self._file.write(left) :]
        except OSError as error:
            self._file.truncate(self._offset)
            raise UserError(f"cannot write {self.path}: {error.strerror}") from error
        self._offset += len(line)


class TensorBoardEvents:
    """The same values for TensorBoard; does nothing where it is not installed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._writer: Any = None
        self._purge_step: int | None = None
        self._installed = find_spec("tensorboard") is not None

    def write(self, step: int, values: Mapping[str, float]) -> None:
        """Add the values that are finite."""
        if not self._installed:
            return
        if self._writer is None:
            try:
                # Imported here because it takes seconds.
                from torch.utils.tensorboard import SummaryWriter
            except ImportError:
                self._installed = False
                return
            self._writer = SummaryWriter(str(self.folder), purge_step=self._purge_step)
        for name, value in values.items():
            if math.isfinite(value):
                self._writer.add_scalar(name, value, step)
        self._writer.flush()

    def rewind(self, step: int) -> None:
        """Let the next events hide those written from `step` on."""
        self.close()
        self._purge_step = step

    def close(self) -> None:
        """Close the event file."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a log, which may still grow; an unfinished last line is left out.

    UserError if it cannot be read or is not a metrics log.
    """
    content = _content(path)
    rows = _parse(path, content[: _end_of_rows(content)])
    for number, row in enumerate(rows, start=1):
        for name, value in row.items():
            if not _is_number(value):
                shown = repr(value) if isinstance(value, str | bool) else "something else"
                raise UserError(
                    f"{path}, line {number}: {name} must be a finite number or null, "
                    f"got {shown:.40}"
                )
    return rows


def check_rows(path: Path, offset: int) -> list[dict[str, Any]]:
    """Return the rows up to `offset`, as a checkpoint made there relies on them.

    UserError if the file is shorter, no row ends there, or it is not a metrics log.
    """
    content = _content(path) if path.exists() else b""
    there = _end_of_rows(content)
    if offset > there:
        raise UserError(
            f"{path} must have at least {offset} bytes, as its checkpoint says, got {there}"
        )
    if _end_of_rows(content[:offset]) != offset:
        raise UserError(f"{path} does not belong to this run: no row ends at byte {offset}")
    return _parse(path, content[:offset])


def end_of_step(path: Path, step: int) -> int:
    """Return the length in bytes of the rows up to a step; 0 if there is no file."""
    content = _content(path) if path.exists() else b""
    rows = _parse(path, content[: _end_of_rows(content)])
    kept = sum(row["step"] <= step for row in rows)
    return sum(len(line) + 1 for line in content.split(b"\n")[:kept])


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error


def _end_of_rows(content: bytes) -> int:
    return content.rfind(b"\n") + 1


def _parse(path: Path, content: bytes) -> list[dict[str, Any]]:
    rows = []
    for number, line in enumerate(content.split(b"\n")[:-1], start=1):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        if not isinstance(row, dict) or type(row.get("step")) is not int:
            raise UserError(f"{path}, line {number}: this is not a row of metrics")
        rows.append(row)
    return rows


def _is_number(value: Any) -> bool:
    """Tell whether this is a number or null; integers in JSON may be larger than any float."""
    return value is None or (type(value) in (int, float) and abs(value) <= sys.float_info.max)


def _number(value: float) -> float | int | None:
    """Return a number of any library as a Python number, or None if JSON has none for it."""
    if hasattr(value, "item"):
        value = value.item()
    return value if math.isfinite(value) else None
