"""One function per verb of the `vast` command."""

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import get_terminal_size
from textwrap import fill
from typing import TYPE_CHECKING, Annotated

import tyro

from vast.checks import at_least
from vast.cli.arguments import (
    AgentFile,
    Device,
    Directory,
    File,
    Name,
    Number,
    RunDirectories,
    RunDirectory,
    Value,
)
from vast.cli.grid import grid
from vast.errors import UserError, unknown

if TYPE_CHECKING:
    from vast.agents.registry import AgentSpec
    from vast.tasks import Task

# A verb imports what it needs when it runs, so that `vast --help` answers at once.

INTERRUPTED = 130
"""the exit code of a command that was interrupted: 128 + the number of the signal"""


def figure(
    name: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="NAME")],
    source: Annotated[
        tuple[Path, ...], tyro.conf.arg(name="from", metavar="DIR ...", help_behavior_hint="")
    ] = (),
    out: Path = Path("figures"),
) -> None:
    """Draw a figure of the paper, as PNG and PDF.

    Args:
        name: which figure: fig1 to fig7, figS1 to figS3
        source: grids or run directories; by default the results that ship with the package
        out: the folder to write it to
    """
    from vast.analysis.figures import draw_figure

    with _writing(out):
        files, note = draw_figure(name, out, source)
    print(f"wrote {' and '.join(map(str, files))}")
    if note:
        print(note)


def maze(
    action: Annotated[str, tyro.conf.Positional],
    file: Annotated[Path, tyro.conf.Positional],
    out: File = None,
) -> None:
    """Turn a text maze into a Doom map, or draw it.

    Args:
        action: build: write the WAD; show: draw the maze from above
        file: the maze, in the format of docs/mazes.md
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
                print(
                    f"note: {repeats} walls repeat a texture, because there are not enough textures"
                )
        else:
            from vast.envs.doom.picture import draw_maze

            draw_maze(maze, path)
    print(f"wrote {path}: {', '.join(maze.maps)}")


MAZE_ACTIONS = {"build": ".wad", "show": ".png"}
"""what can be done with a maze -> the kind of file it gives"""


def train() -> None:
    """Train an agent on a task, or resume a run; see `vast train --help`."""


def resume(directory: RunDirectory, steps: Number = None, device: Device = None) -> None:
    """Resume a run where it stopped.

    Args:
        directory: the run directory
        steps: environment steps in all; by default those of the run's config
        device: cpu, cuda, mps or auto; by default that of the run's config
    """
    from vast.experiments import runs

    tell_end(runs.resume(directory, steps, device), directory)


def evaluate(directory: RunDirectory, steps: int = 1000, device: Device = None) -> None:
    """Run a test epoch with a saved agent, and print one line of JSON.

    Args:
        directory: the run directory
        steps: length of the test epoch
        device: cpu, cuda, mps or auto; by default the run's, or cpu if that is not here
    """
    import json

    from vast.experiments import runs

    at_least(1, steps=steps)
    with runs.open_readonly(directory, device) as run:
        epsilon = run.config.loop.eval_epsilon
        row = run.test_epoch(run.agent.steps, steps, epsilon)
        found = {"step": run.agent.steps, "steps": steps, "epsilon": epsilon, **row}
    print(json.dumps({name: None if value != value else value for name, value in found.items()}))


def play(directory: RunDirectory, out: Path, steps: int = 1000, device: Device = None) -> None:
    """Film a greedy episode of a saved agent.

    Args:
        directory: the run directory
        out: the video to write, FILE.mp4 or FILE.gif
        steps: at most; the episode may end before
        device: cpu, cuda, mps or auto; by default the run's, or cpu if that is not here
    """
    from vast.experiments.films import film

    with _writing(out):
        summary = film(directory, out, steps, device)
    print(f"wrote {out}: {summary}")


def export_agent(
    directory: RunDirectory,
    file: AgentFile,
    with_replay: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False,
) -> None:
    """Write a trained agent as one file to share; loading it runs no code.

    Args:
        directory: the run directory
        file: the file to write
        with_replay: include the images seen, which are most of the bytes, so that it can be resumed
    """
    from vast.experiments.sharing import export_run

    done = export_run(directory, file, with_replay=with_replay)
    print(f"wrote {file}: step {done.step:,}, {_size(done.size)}, {_frames_of(done.has_frames)}")
    if not done.has_frames:
        print(f"  --with-replay adds the images, up to {_size(done.frame_bytes)}, to resume it")


def import_agent(
    file: AgentFile,
    out: Directory = None,
    allow_module: Name = None,
) -> None:
    """Make a run directory from a file that `vast export` wrote.

    Args:
        file: the file
        out: the run directory to make; by default runs/FILE
        allow_module: a module that may be imported, if the environment is in one
    """
    from vast.experiments.sharing import import_run

    out = out or Path("runs", file.stem)
    done = import_run(file, out, allow_module)
    print(f"wrote {out}: step {done.step:,}, {_frames_of(done.has_frames)}")
    for verb in ("eval", "report", "explore", *(["resume"] if done.has_frames else [])):
        print(f"  vast {verb} {out}")


def _frames_of(has_frames: bool) -> str:
    return "with all frames" if has_frames else "without the images it saw"


def _size(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"


def report(directories: RunDirectories, out: File = None) -> None:
    """Write one HTML file about runs: curves, values, what-ifs, states, configuration.

    Args:
        directories: the run directories; a grid's directory stands for all its runs
        out: the file to write; by default report.html, in the directory if there is only one
    """
    from rich.console import Console

    from vast.analysis.report import write_report

    if not directories:
        raise UserError("report needs one run directory or more")
    alone = len(directories) == 1
    out = out or (directories[0] / "report.html" if alone else Path("report.html"))
    with Console(stderr=True).status("reading") as status, _writing(out):
        summary = write_report(list(directories), out, status.update)
    for line in summary:
        print(line)
    print(f"wrote {out}")


def compare(
    directories: RunDirectories,
    metric: str = "eval/reward_per_step",
    score: str = "last-third",
    until: Number = None,
    threshold: Value = None,
    against: Name = None,
    json: File = None,
) -> None:
    """Compare the arms of runs or grids, with seeds as units (docs/statistics.md).

    Args:
        directories: run directories, or grids
        metric: what is compared, by its name in metrics.jsonl
        score: a run as one number: last-third (mean of the last third of the tests) or area
        until: compare up to this step; by default up to the end of the shortest run of a task
        threshold: of the steps to a threshold; by default 90 % of the way to the best arm
        against: compare only this arm with each other one
        json: also write everything to this file
    """
    from vast.analysis.comparison import compare as compared
    from vast.analysis.comparison_table import show, write_json
    from vast.experiments.results import load_runs

    if not directories:
        raise UserError("compare needs one run directory or grid, or more")
    found = compared(
        load_runs(directories), metric, score, until=until, threshold=threshold, against=against
    )
    if json is not None:
        with _writing(json):
            write_json(found, json)
    show(found)
    if json is not None:
        print(f"wrote {json}")


def explore(
    directory: RunDirectory,
    port: int = 0,
    open_page: Annotated[bool, tyro.conf.arg(name="open")] = True,
    save_to: Directory = None,
) -> None:
    """Look at a run's table in the browser: states, values, what if, replay.

    Args:
        directory: the run directory
        port: to serve the page on, on this machine only; any free one by default
        open_page: open the page in the browser
        save_to: where `save as` writes tables; by default DIRECTORY/tables
    """
    from vast.explorer.explore import explore as serve

    serve(directory, port, save_to, show=open_page)


def tasks() -> None:
    """List tasks, agents, presets and experiments, and the extras they require."""
    from vast.agents.registry import PRESETS, known_agents
    from vast.experiments.figures import EXPERIMENTS, SAME_RUNS, experiment_named
    from vast.extras import EXTRAS, is_installed
    from vast.tasks import TASKS

    # Lines that another program reads are not wrapped.
    width = get_terminal_size((1000, 24)).columns
    required = {task.extra for task in TASKS.values()}
    required |= {spec.extra for spec in known_agents().values()}
    for title, entries in (
        ("tasks", {name: _marked(task) for name, task in TASKS.items()} | OTHERS),
        ("agents", {name: _marked(spec) for name, spec in known_agents().items()}),
        ("presets", PRESETS),
        (
            "experiments, for vast grid",
            {name: experiment_named(name).about for name in (*EXPERIMENTS, *SAME_RUNS)},
        ),
        (
            "extras, which some of these require",
            {
                f"[{name}]": f"{software}, "
                + ("installed" if is_installed(name) else f"pip install 'vast-rl[{name}]'")
                for name, (_, software) in EXTRAS.items()
                if name in required
            },
        ),
    ):
        print(title)
        for name, about in entries.items():
            first, others = f"  {name:<26}", " " * 28
            print(fill(about, width, initial_indent=first, subsequent_indent=others))


def _marked(part: "Task | AgentSpec") -> str:
    """Return what a task or an agent is, and which extra it requires."""
    return f"{part.about} [{part.extra}]" if part.extra else part.about


OTHERS = {
    "FILE.maze": "a maze of your own (docs/mazes.md) [doom]",
    "gym:ENV_ID": "any registered Gymnasium environment with discrete actions",
}


NEXT = {
    "report {}": "curves, values and frames in one HTML file",
    "explore {}": "its table in the browser: values, what if, replay",
    "eval {}": "a test epoch",
    "resume {} --steps N": "train longer",
}
"""what to do with a finished run"""


def tell_end(finished: bool, directory: Path) -> None:
    """Say how a run ended, and exit with the right code."""
    if finished:
        print(f"done: {directory}")
        for verb, why in NEXT.items():
            print(f"  vast {verb.format(directory):<40}  # {why}")
        return
    with contextlib.suppress(OSError):  # the terminal may be closed: then this is why we stop
        print(f"interrupted and saved; to resume: vast resume {directory}", flush=True)
    sys.exit(INTERRUPTED)


@contextlib.contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Turn a failure to write a file into one line."""
    try:
        yield
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror or error}") from error


VERBS: dict[str, Callable[..., None]] = {
    "train": train,
    "resume": resume,
    "eval": evaluate,
    "play": play,
    "export": export_agent,
    "import": import_agent,
    "report": report,
    "compare": compare,
    "grid": grid,
    "explore": explore,
    "tasks": tasks,
    "figure": figure,
    "maze": maze,
}
