"""The `vast` command: parses the arguments, calls a verb, and turns mistakes into one line."""

import contextlib
import functools
import io
import os
import re
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn

import tyro

from vast import __version__
from vast.cli.completion import INSTALL, install
from vast.cli.verbs import INTERRUPTED, VERBS, tell_end
from vast.errors import UserError, unknown

DESCRIPTION = "Pixels to a table, and planning in it. See also --version, --install-completion."


def main(arguments: Sequence[str] | None = None) -> None:
    """Run `vast VERB ...`."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if arguments == ["--version"]:
        print(f"vast {__version__}")
        return
    try:
        if not arguments:
            raise UserError("a command is missing: `vast --help` lists them")
        if arguments[0] == INSTALL:
            install(arguments[1:], VERBS)
            return
        if not arguments[0].startswith("-") and arguments[0] not in VERBS:
            raise unknown("command", arguments[0], VERBS)
        parse(arguments)()
    except UserError as error:
        _fail(str(error))
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output, `head` perhaps, has closed the pipe; Python would complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


def parse(arguments: Sequence[str]) -> Callable[[], None]:
    """Return the call that the arguments stand for; stderr is held back while parsing only."""
    held = io.StringIO()
    try:
        with contextlib.redirect_stderr(held):
            if arguments[:1] == ["train"]:
                return _train(arguments[1:])
            call: Callable[[], None] = tyro.extras.subcommand_cli_from_dict(
                {verb: _deferred(function) for verb, function in VERBS.items()},
                prog="vast",
                description=DESCRIPTION,
                args=arguments,
            )
            return call
    except SystemExit as stop:
        if stop.code in (0, None):
            raise
        _fail(_one_line(held.getvalue()))


def _train(arguments: Sequence[str]) -> Callable[[], None]:
    """Parse the arguments of `vast train`, whose options depend on the first of them."""
    from vast.cli.train import parse_train

    asked = parse_train(arguments)

    def call() -> None:
        from vast.experiments import runs

        done = runs.train(asked.directory, asked.config, wandb=asked.wandb)
        tell_end(done, asked.directory)

    return call


def _deferred(function: Callable[..., None]) -> Callable[..., Callable[[], None]]:
    """Return a function with the same arguments that only remembers the call."""

    @functools.wraps(function)
    def remember(*args: object, **kwargs: object) -> Callable[[], None]:
        return functools.partial(function, *args, **kwargs)

    return remember


def _one_line(box: str) -> str:
    """Return what a tyro error box says, without its title, its frame and its pointer to the help.

    Where the terminal cannot draw frames, the title stands above a rule; colours come and go, too.
    """
    plain = re.sub(r"\x1b\[[0-9;]*m", "", box)
    lines = [line.strip("│ ") for line in plain.splitlines()]
    parts = [" "]
    for line in lines:
        if re.fullmatch("[╭╰─-].*[╮╯─-]", line):
            parts.append("")
        else:
            parts[-1] += f" {line}"
    said = [" ".join(part.split()) for part in parts[1:]]
    return "; ".join(part for part in said if part and not part.startswith("For full helptext"))


def _fail(message: str) -> NoReturn:
    print(f"vast: {message}", file=sys.stderr)
    sys.exit(2)
