"""The `vast` command: one function per verb."""

import contextlib
import functools
import io
import os
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


def train() -> None:
    """Train an agent on a task; `vast train --help` lists every field of its config."""


def resume(folder: Annotated[Path, tyro.conf.Positional], steps: int | None = None) -> None:
    """Go on with a run where it stopped.

    Args:
        folder: the run's folder
        steps: environment steps in all; by default as many as the run was asked for
    """
    from vast.experiments import runs

    _tell_end(runs.resume(folder, steps), folder)


def evaluate(folder: Annotated[Path, tyro.conf.Positional], steps: int = 1000) -> None:
    """Run a test epoch with a saved agent, and print one line of JSON.

    Args:
        folder: the run's folder
        steps: of the test epoch
    """
    import json

    from vast.experiments import runs

    if steps < 1:
        raise UserError(f"steps {steps}: allowed is 1 or more")
    with runs.looked_at(folder) as run:
        epsilon = run.config.loop.eval_epsilon
        row = run.test_epoch(run.agent.steps, steps, epsilon)
        found = {"step": run.agent.steps, "steps": steps, "epsilon": epsilon, **row}
    print(json.dumps({name: None if value != value else value for name, value in found.items()}))


def play(folder: Annotated[Path, tyro.conf.Positional], out: Path, steps: int = 1000) -> None:
    """Film a greedy episode of a saved agent.

    Args:
        folder: the run's folder
        out: the video to write, FILE.mp4 or FILE.gif
        steps: after which the film ends, if the episode does not
    """
    from vast.experiments.films import film

    with _writing(out):
        told = film(folder, out, steps)
    print(f"wrote {out}: {told}")


def report(
    folders: Annotated[tuple[Path, ...], tyro.conf.Positional], out: Path | None = None
) -> None:
    """Write one HTML file about one or more runs: curves, values, frames, numbers.

    Args:
        folders: the runs' folders
        out: the file to write; by default report.html, in the run's folder if there is one run
    """
    from vast.analysis.report import write_report

    if not folders:
        raise UserError("report on what? Name the folder of a run, or several")
    out = out or (folders[0] / "report.html" if len(folders) == 1 else Path("report.html"))
    with _writing(out):
        news = write_report(list(folders), out)
    for line in news:
        print(line)
    print(f"wrote {out}")


def tasks() -> None:
    """List the tasks, agents and presets there are."""
    from vast.agents.registry import KINDS
    from vast.envs.tasks import TASKS

    for title, entries in (
        ("tasks", {name: task.about for name, task in TASKS.items()}),
        ("agents", {name: kind.about for name, kind in KINDS.items()}),
        ("presets", PRESETS),
    ):
        print(title)
        for name, about in entries.items():
            print(f"  {name:<20}{about}")


PRESETS = {
    "paper": "every number as published",
    "cpu": "learns in minutes on two cores",
    "debug": "seconds, to see that everything runs",
}


def _tell_end(finished: bool, folder: Path) -> None:
    if finished:
        print(f"done: {folder}")
    else:
        print(f"interrupted and saved; to go on: vast resume {folder}")
        sys.exit(INTERRUPTED)


@contextlib.contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Turn a failure to write a file into one line."""
    try:
        yield
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from error


VERBS: dict[str, Callable[..., None]] = {
    "train": train,
    "resume": resume,
    "eval": evaluate,
    "play": play,
    "report": report,
    "tasks": tasks,
    "figure": figure,
    "maze": maze,
}


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
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        # Who reads our output, `head` perhaps, has seen enough; Python would complain at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


INTERRUPTED = 130
"""the exit code of a command that was interrupted: 128 + the number of the signal"""


def _call(arguments: Sequence[str]) -> None:
    """Parse the arguments and run the verb; only parsing is done with stderr held back."""
    held = io.StringIO()
    try:
        with contextlib.redirect_stderr(held):
            if arguments[:1] == ["train"]:
                call = _train(arguments[1:])
            else:
                call = tyro.extras.subcommand_cli_from_dict(
                    {verb: _deferred(function) for verb, function in VERBS.items()},
                    prog="vast",
                    description=DESCRIPTION,
                    args=arguments,
                )
    except SystemExit as stop:
        if stop.code in (0, None):
            raise
        _fail(_one_line(held.getvalue()))
    call()


DESCRIPTION = (
    "Variational State Tabulation: pixels to a table, and planning in it. "
    "`vast --version` prints the version."
)


def _train(arguments: Sequence[str]) -> Callable[[], None]:
    """Parse the arguments of `vast train`, whose options depend on the first of them."""
    from vast.cli_train import parse_train

    folder, config = parse_train(arguments)

    def call() -> None:
        from vast.experiments import runs

        _tell_end(runs.train(folder, config), folder)

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
