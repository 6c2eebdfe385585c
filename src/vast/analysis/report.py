"""What there is to tell of one or more runs: learning curves, values, frames, numbers."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from vast.agents.vast.mind import VaSTMind
from vast.analysis.curves import BEST, Rows, draw_inside, draw_returns
from vast.analysis.drawing import save
from vast.analysis.fig1cd import draw_one_run, told
from vast.analysis.frames import draw_frames
from vast.analysis.report_page import Fact, Picture, page
from vast.analysis.value_map import draw_values
from vast.envs.doom.environment import DoomMaze
from vast.envs.tasks import make_env
from vast.errors import UserError
from vast.experiments import folder as files
from vast.experiments.config import RunConfig
from vast.experiments.one_run import look_around, show_run, values
from vast.experiments.runs import looked_at
from vast.files import written_whole
from vast.training.metrics import read_metrics
from vast.training.plain import to_plain


@dataclass(frozen=True)
class Entry:
    """A run to report on."""

    folder: Path
    name: str
    config: RunConfig
    rows: Rows


@dataclass(frozen=True)
class Section:
    """A picture, what it shows, and how its file is called."""

    name: str
    title: str
    about: str
    figure: Figure
    news: str = ""
    """what it says, in a line for the terminal"""


def write_report(folders: list[Path], out: Path) -> list[str]:
    """Write the report, and its pictures into a folder beside it; return the news in lines.

    The runs are only looked at; nothing in their folders changes but for the report.
    """
    entries = [_entry(folder, name) for folder, name in _named(folders).items()]
    sections = list(_sections(entries))
    pictures = [
        Picture(
            section.title,
            section.about,
            save(section.figure, pictures_of(out) / f"{section.name}.png"),
        )
        for section in sections
    ]
    facts = [fact for entry in entries for fact in _facts(entry)]
    title = " and ".join(entry.name for entry in entries)
    configs = {entry.name: to_plain(entry.config) for entry in entries}
    with written_whole(out) as unfinished:
        unfinished.write_text(page(title, facts, pictures, configs), encoding="utf-8")
    return [section.news for section in sections if section.news]


def pictures_of(out: Path) -> Path:
    """Return the folder for the pictures of a report."""
    return out.with_name(f"{out.stem}-pictures")


def _named(folders: list[Path]) -> dict[Path, str]:
    """Return short names: the last part of each path, or all of it where two would be the same."""
    names = [folder.resolve().name for folder in folders]
    short = len(set(names)) == len(names)
    return {
        folder: name if short else str(folder) for folder, name in zip(folders, names, strict=True)
    }


def _entry(folder: Path, name: str) -> Entry:
    config = files.read_config(folder)
    rows = read_metrics(folder / files.METRICS)
    if not rows:
        first = min(config.loop.log_every, config.loop.eval_every)
        raise UserError(f"{folder}: nothing is logged yet, the first row comes at step {first}")
    return Entry(folder, name, config, rows)


def _facts(entry: Entry) -> list[Fact]:
    config, last = entry.config, entry.rows[-1]
    tests = [row for row in entry.rows if row.get("eval/mean_return") is not None]
    found = {
        "task": config.task,
        "agent": f"{config.agent}, preset {config.preset}, seed {config.seed}",
        "steps": f"{last['step']:,} of {config.steps:,}",
        "time": f"{last['wall_seconds'] / 60:.1f} minutes",
    }
    if tests:
        test = tests[-1]
        found["last test epoch"] = (
            f"mean return {test['eval/mean_return']:.2f} of {test['eval/episodes']} episodes, "
            f"at step {test['step']:,}"
        )
    return [Fact(entry.name, name, text) for name, text in found.items()]


def _sections(entries: list[Entry]) -> Iterator[Section]:
    runs = {entry.name: entry.rows for entry in entries}
    tasks = {entry.config.task for entry in entries}
    yield Section(
        "learning-curve",
        "Learning",
        "The mean return of the episodes that ended in each test epoch and, in a report on one "
        "run, of those that ended between two rows of metrics while it learned and explored.",
        draw_returns(runs, BEST.get(tasks.pop()) if len(tasks) == 1 else None),
    )
    for entry in entries:
        yield from _seen(entry, "" if len(entries) == 1 else f"-{entry.name}")
    inside = draw_inside(runs)
    if inside is not None:
        about = "The terms of the free energy, and what the table holds, over environment steps."
        yield Section("inside", "Model and table", about, inside)


def _seen(entry: Entry, suffix: str) -> Iterator[Section]:
    """Look at the world with the eyes of an agent, if it has states."""
    with looked_at(entry.folder) as run:
        mind, config = run.agent, run.config
        if not isinstance(mind, VaSTMind) or not len(mind.table):
            return
        env = make_env(config.task, config.wad, config.map)
        run.give_world_to(env)
        of = f" of {entry.name}" if suffix else ""
        try:
            views, world = None, env.unwrapped
            if isinstance(world, DoomMaze):
                plan = world.floor_plan()
                if config.task == "t-maze" and config.wad is None:
                    data = show_run(mind, env)
                    views, said = data.around, told(data)
                    yield Section(
                        f"one-run{suffix}",
                        f"One run from an arm never visited{of}",
                        f"{_arrows(data.around_values[0])} {ONE_RUN} {said}",
                        draw_one_run(plan, data),
                        f"{entry.name}: {said}" if suffix else said,
                    )
                else:
                    views = look_around(mind, env)
                    found = values(mind.table, views.states)
                    shown = draw_values(plan, views, found)
                    yield Section(f"values{suffix}", f"Values{of}", _arrows(found), shown)
            if len(mind.tabulator.shape) == 3:
                views = views or look_around(mind, env)
                shown = draw_frames(views, mind.tabulator)
                yield Section(f"frames{suffix}", f"Frames{of}", FRAMES, shown)
        finally:
            env.close()


ARROWS = (
    "Each arrow is an observation at its place and heading, coloured by the value of its state. "
    "The agent was led around with half of its actions random; observations whose state is not "
    "in the table ({unknown:.0%}) are left out."
)
ONE_RUN = (
    "Outlined arrows are those of the forced run, Fig. 1C and D of the paper: 20 steps from an arm "
    "that an invisible wall (dotted) had shut during training, with no reward. Grey: not in the "
    "table before."
)
FRAMES = (
    "Above, observations as they are stored; below, what the decoder makes of the state that each "
    "was assigned."
)


def _arrows(found: NDArray[np.float64]) -> str:
    return ARROWS.format(unknown=float(np.isnan(found).mean()))
