"""`vast --install-completion`: the shell completes verbs and options when one presses Tab."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import tyro

from vast.errors import UserError, unknown
from vast.files import atomic_write

INSTALL = "--install-completion"
PLACES = {
    "bash": "~/.local/share/bash-completion/completions/vast",
    "zsh": "~/.zfunc/_vast",
    "fish": "~/.config/fish/completions/vast.fish",
}
"""where each shell looks for completions"""
NOTES = {
    "bash": "it needs the package bash-completion; open a new terminal to use it",
    "zsh": "if ~/.zshrc does not do so yet, add: fpath=(~/.zfunc $fpath); autoload -Uz compinit; "
    "compinit",
    "fish": "open a new terminal to use it",
}


def install(arguments: Sequence[str], verbs: Mapping[str, Callable[..., Any]]) -> None:
    """Write the completions of the shell that is named, or else of the user's, and say where."""
    if len(arguments) > 1:
        raise UserError(f"{INSTALL} takes the name of one shell, got {' '.join(arguments)}")
    shell = arguments[0] if arguments else Path(os.environ.get("SHELL", "")).name
    if shell not in PLACES:
        raise unknown("shell", shell, PLACES)
    path = Path(PLACES[shell]).expanduser()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as unfinished:
            _write(shell, unfinished, verbs)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from error
    print(f"wrote {path}; {NOTES[shell]}")


def _write(shell: str, path: Path, verbs: Mapping[str, Callable[..., Any]]) -> None:
    """Let tyro write the script; the options of `train` are those of VaST."""
    from vast.cli.train import options_class

    known: dict[str, Any] = {**verbs, "train": options_class("vast")}
    try:
        tyro.extras.subcommand_cli_from_dict(
            known, prog="vast", args=["--tyro-write-completion", shell, str(path)]
        )
    except SystemExit as done:
        if done.code:
            raise
