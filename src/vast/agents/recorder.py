"""The seam for run directories: agents do not know experiments, which write them.

The package's `__init__` names the function; it is imported on first use.
"""

from collections.abc import Iterable
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from vast.agents.base import Agent
    from vast.training.callbacks import Callback
    from vast.training.protocol import Env


class Recorder(Protocol):
    """Lets an agent learn up to `steps` in all, into a run directory."""

    def __call__(
        self,
        agent: "Agent",
        directory: Path,
        steps: int,
        *,
        test_env: "Env | None",
        callbacks: "Iterable[Callback]",
        quiet: bool,
    ) -> bool:
        """Return whether it was interrupted."""
        ...


_named: list[str] = []


def use_recorder(name: str) -> None:
    """Let `learn(out=...)` call the function of this name, "package.module:function"."""
    _named[:] = [name]


def recorder() -> Recorder:
    """Return that function."""
    found: Recorder = resolve_name(*_named)
    return found
