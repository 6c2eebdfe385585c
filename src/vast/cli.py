"""The `vast` command: one function per verb."""

import contextlib
import functools
import io
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, NoReturn

import tyro

from vast import __version__
from vast.errors import UserError, unknown

# A verb imports what it needs when it runs, so that `vast --help` answers at once.


def figure(name: Annotated[str, tyro.conf.Positional], out: Path = Path("figures")) -> None:
    """Draw a figure of the paper.

    Args:
        name: which figure: fig1
        out: the folder to write it to
    """
    from vast.analysis.figures import draw_figure

    with _writing(out):
        file = draw_figure(name, out)
    print(f"wrote {file}")


def maze(
    action: Annotated[str, tyro.conf.Positional],
    file: Annotated[Path, tyro.conf.Positional],
    out: Path | None = None,
) -> None:
    """Turn a text maze into a Doom map, or draw it.

    Args:
        action: build: write the WAD; show: draw the maze from above
        file: the maze, written as docs/mazes.md says
        out: the file to write: FILE.wad or FILE.png by default
    """
    if action not in MAZE_ACTIONS:
        raise unknown("maze command", action, MAZE_ACTIONS)
    from vast.envs.doom.maze_text import read_maze

    maze = read_maze(file)
    path = out or file.with_suffix(MAZE_ACTIONS[action])
    with _writing(path):
        if action == "build":
            from vast.envs.doom.udmf import write_maze

            repeats = write_maze(maze, path)
            if repeats:
                print(f"note: {repeats} walls repeat a texture, for there are not enough of them")
        else:
            from vast.envs.doom.picture import draw_maze

            draw_maze(maze, path)
    print(f"wrote {path}: {', '.join(maze.maps)}")


MAZE_ACTIONS = {"build": ".wad", "show": ".png"}
"""what can be done with a maze -> the kind of file it gives"""


@contextlib.contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Turn a failure to write a file into one line."""
    try:
        yield
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from error


VERBS: dict[str, Callable[..., None]] = {"figure": figure, "maze": maze}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run `vast VERB ...`."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if arguments == ["--version"]:
        print(f"vast {__version__}")
        return
    try:
        if not arguments:
            raise UserError("no command: `vast --help` lists them")
        if not arguments[0].startswith("-") and arguments[0] not in VERBS:
            raise unknown("command", arguments[0], VERBS)
        _call(arguments)
    except UserError as error:
        _fail(str(error))


def _call(arguments: Sequence[str]) -> None:
    """Parse the arguments and run the verb; only parsing is done with stderr held back."""
    held = io.StringIO()
    try:
        with contextlib.redirect_stderr(held):
            call = tyro.extras.subcommand_cli_from_dict(
                {verb: _deferred(function) for verb, function in VERBS.items()},
                prog="vast",
                description="Variational State Tabulation: pixels to a table, and planning in it. "
                "`vast --version` prints the version.",
                args=arguments,
            )
    except SystemExit as stop:
        if stop.code in (0, None):
            raise
        _fail(_one_line(held.getvalue()))
    call()


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
