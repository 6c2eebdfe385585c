"""A logged sweep as files: all of it as arrays (.npz), or its backups as a table (.csv)."""

import csv
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vast.files import atomic_write
from vast.planning.logged_sweep import Backups, Pops, empty_backups, empty_pops
from vast.planning.memory import LENGTH
from vast.planning.table import TransitionTable

Poses = Mapping[int, Sequence[float]]
"""x, y and heading in degrees of states, for example the means over their observations"""

VERSION = 1
ROWS = 1 << 16
"""rows of a .csv file that are written at a time"""
POSE = ("x", "y", "heading")
HEADER = (
    *("backup", "pop", "popped_state", "priority", "state", "action"),
    *("q_before", "q_after", "q_change", "v_before", "v_after", "v_change"),
    *("priority_before", "priority_after"),
)


def write_npz(
    path: Path, pops: Pops, backups: Backups, after: Mapping[str, Any], poses: Poses | None
) -> None:
    """Write a log and the table after it."""
    arrays: dict[str, Any] = {"version": VERSION}
    arrays |= {f"pop_{name}": column for name, column in pops._asdict().items()}
    arrays |= backups._asdict()
    # What follows from these is written as well, so that the file can be used by itself.
    arrays["popped_states"] = pops.states[backups.pops]
    arrays["priorities"] = pops.priorities[backups.pops]
    arrays["q_change"] = backups.q_after - backups.q_before
    arrays["v_change"] = backups.v_after - backups.v_before
    arrays |= {f"table_{name}": value for name, value in after.items()}
    if poses is not None:
        arrays["poses"] = _poses_of(backups.states, poses)
        arrays["pop_poses"] = _poses_of(pops.states, poses)
    with atomic_write(path) as unfinished, unfinished.open("wb") as file:
        np.savez_compressed(file, **arrays)


def write_csv(path: Path, pops: Pops, backups: Backups, poses: Poses | None) -> None:
    """Write one row per backup."""
    header = list(HEADER)
    if poses is not None:
        header += [*POSE, *(f"popped_{name}" for name in POSE)]
    with (
        atomic_write(path) as unfinished,
        unfinished.open("w", newline="", encoding="utf-8") as file,
    ):
        writer = csv.writer(file)
        writer.writerow(header)
        for begin in range(0, len(backups.pops), ROWS):
            rows = range(begin, min(begin + ROWS, len(backups.pops)))
            columns = _csv_columns(pops, backups, slice(rows.start, rows.stop), poses)
            writer.writerows(zip(rows, *columns, strict=True))


def _csv_columns(pops: Pops, backups: Backups, rows: slice, poses: Poses | None) -> list[list[Any]]:
    """Return some rows of all columns but the first."""
    pop, states, actions = backups.pops[rows], backups.states[rows], backups.actions[rows]
    q, next_q, v, next_v, priority, next_priority = (column[rows] for column in backups[3:])
    changes = (q, next_q, next_q - q, v, next_v, next_v - v, priority, next_priority)
    columns = [
        pop.tolist(),
        _names(pops.states[pop]),
        pops.priorities[pop].tolist(),
        _names(states),
        actions.tolist(),
        *(column.tolist() for column in changes),
    ]
    if poses is not None:
        for whose in (states, pops.states[pop]):
            # An empty cell is a missing number to every program; "nan" is text to some.
            found = _poses_of(whose, poses)
            columns += [["" if x != x else x for x in column] for column in found.T.tolist()]
    return columns


def read_npz(path: Path) -> tuple[Pops, Backups, dict[str, Any]]:
    """Return what `write_npz` wrote, checked."""
    if path.suffix.lower() == ".csv":
        raise ValueError(f"{path}: a .csv file lacks the table; load the .npz file of the same log")
    with path.open("rb") as raw:
        try:
            with np.load(raw, allow_pickle=False) as file:
                saved = {name: file[name] for name in file.files}
        except (ValueError, TypeError, OSError, EOFError, zipfile.BadZipFile, zlib.error) as error:
            raise ValueError(f"{path}: not a log of a sweep, or damaged") from error
    if "version" not in saved or saved["version"].shape != () or saved["version"] != VERSION:
        raise ValueError(f"{path}: not a log of a sweep of version {VERSION}")
    pops = Pops(*_columns(path, saved, "pop_", empty_pops(0)))
    backups = Backups(*_columns(path, saved, "", empty_backups(0)))
    after = {
        name.removeprefix("table_"): value.item() if value.ndim == 0 else value
        for name, value in saved.items()
        if name.startswith("table_")
    }
    try:
        table = TransitionTable.from_state_dict(after)
    except (KeyError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from error
    in_use = (after["n"] > 0).any(axis=1) | (after["block"][:, LENGTH] > 0)
    n, n_pops = backups.pops, len(pops.states)
    sound = (
        (len(n) == 0 or (n[0] >= 0 and n[-1] < n_pops and (np.diff(n) >= 0).all()))
        and ((backups.actions >= 0) & (backups.actions < table.n_actions)).all()
        and np.isin(backups.states, table.states()).all()
        and np.isin(pops.states, after["key"][in_use]).all()
    )
    if not sound:
        raise ValueError(f"{path}: the log contradicts its table; the file is damaged")
    return pops, backups, after


def _columns(
    path: Path, saved: Mapping[str, NDArray[Any]], prefix: str, like: Pops | Backups
) -> list[NDArray[Any]]:
    """Return the columns of a log, all of one length."""
    columns = []
    for name, kind in like._asdict().items():
        column = saved.get(f"{prefix}{name}")
        if column is None or column.dtype != kind.dtype or column.ndim != 1:
            raise ValueError(f"{path}: {prefix}{name} is missing or not an array of {kind.dtype}")
        columns.append(column)
    if len({len(column) for column in columns}) != 1:
        raise ValueError(f"{path}: columns of different lengths; the file is damaged")
    return columns


def _names(states: NDArray[np.uint64]) -> list[str]:
    """Return states as text that no program takes for a number."""
    return [f"s{state:016x}" for state in states.tolist()]


def _poses_of(states: NDArray[np.uint64], poses: Poses) -> NDArray[np.float64]:
    """Return the poses of states, [n, 3]; nan where there is none."""
    known, where = np.unique(states, return_inverse=True)
    found = np.full((len(known), len(POSE)), np.nan)
    for i, state in enumerate(known.tolist()):
        if state in poses:
            pose = poses[state]
            if np.shape(pose) != (len(POSE),):
                raise ValueError(f"pose must be (x, y, heading in degrees), got {pose!r}")
            found[i] = pose
    return found[where]
