"""The transition table of a saved agent, without its networks, frames or environment."""

from pathlib import Path

from vast.errors import UserError
from vast.planning import TransitionTable
from vast.training.checkpoint import Checkpoint, checkpoint_errors, checkpoint_in


def load_table(directory: str | Path) -> TransitionTable:
    """Return the table of a run directory, or of a directory that `Agent.save` wrote.

    It is a copy: changes do not reach the checkpoint.
    """
    folder = checkpoint_in(Path(directory))
    state, _ = Checkpoint(folder).load()
    with checkpoint_errors(folder):
        saved = state["agent"].get("table")
        if saved is None:
            raise UserError(f"{directory}: the agent {state['agent']['name']!r} has no table")
        return TransitionTable.from_state_dict(saved)
