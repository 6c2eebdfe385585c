"""The transition table of a saved agent, without its networks, frames or environment."""

import zipfile
from pathlib import Path

import numpy as np

from vast.errors import UserError
from vast.files import atomic_write
from vast.planning import TransitionTable
from vast.training.agent_file import load_saved
from vast.training.checkpoint import checkpoint_errors

FILE = ".npz"
"""what the name of a table saved alone ends with"""


def save_table(table: TransitionTable, path: str | Path) -> None:
    """Write a table alone, as arrays in one .npz file, which `load_table` reads."""
    path = Path(path)
    if path.suffix != FILE:
        raise UserError(f"the file of a table must end in {FILE}, got {path}")
    with atomic_write(path) as unfinished:
        np.savez_compressed(unfinished, **table.state_dict())


def load_table(directory: str | Path) -> TransitionTable:
    """Return the table of a run directory, of a directory that `Agent.save` wrote, or of a file.

    It is a copy: changes do not reach the checkpoint. A file is what `save_table` or `vast export`
    wrote.
    """
    if Path(directory).suffix == FILE:
        return _load_file(Path(directory))
    state, _, folder = load_saved(Path(directory))
    with checkpoint_errors(folder):
        saved = state["agent"].get("table")
        if saved is None:
            raise UserError(f"{directory}: the agent {state['agent']['name']!r} has no table")
        return TransitionTable.from_state_dict(saved)


def _load_file(path: Path) -> TransitionTable:
    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            saved = {name: file[name] for name in file.files}
        state = {name: each.item() if each.ndim == 0 else each for name, each in saved.items()}
        return TransitionTable.from_state_dict(state)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from error
    except (ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise UserError(f"{path} must be a table that was saved, but is damaged") from error
