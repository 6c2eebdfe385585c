"""What is ours and not the paper's, one file each, behind `vast.agents.extension.Extension`.

A new extension is one new file here, its hyperparameters in `ExtensionsConfig`, and its place in
`EXTENSIONS` (both in `vast.agents.vast.config`).
"""

from dataclasses import dataclass
from pkgutil import resolve_name

from vast.agents.extension import Extension
from vast.agents.vast.config import EXTENSIONS, ExtensionsConfig
from vast.planning import TransitionTable
from vast.replay import Replay


@dataclass(frozen=True)
class Context:
    """What an extension may use of its agent."""

    table: TransitionTable
    replay: Replay
    n_bits: int
    """of a code"""

    @property
    def n_actions(self) -> int:
        """How many actions there are."""
        return self.table.n_actions


def build(config: ExtensionsConfig, context: Context) -> list[Extension]:
    """Return the extensions that a config turns on."""
    made = (resolve_name(path).from_config(config, context) for path in EXTENSIONS)
    return [extension for extension in made if extension is not None]
