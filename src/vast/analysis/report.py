"""A report on one or more runs: learning curves, values, frames, hyperparameters."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import nan
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from vast.agents.vast.agent import VaST
from vast.analysis.curves import Rows, draw_inside, draw_returns
from vast.analysis.drawing import save
from vast.analysis.fig1cd import draw_one_run, summarize
from vast.analysis.frames import draw_frames
from vast.analysis.report_page import Fact, Picture, page
from vast.analysis.value_map import draw_values
from vast.envs.doom.environment import DoomMaze
from vast.errors import UserError
from vast.experiments import run_directory as files
from vast.experiments.config import RunConfig
from vast.experiments.one_run import look_around, show_run, values
from vast.experiments.runs import open_readonly
from vast.files import atomic_write
from vast.model.tabulator import Tabulator
from vast.tasks import make_env, task_named
from vast.training.metrics import read_metrics
from vast.training.plain import to_plain


@dataclass(frozen=True)
class Entry:
    """A run in a report."""

    folder: Path
    name: str
    config: RunConfig
    rows: Rows


@dataclass(frozen=True)
class Section:
    """A picture, its caption, and the name of its file."""

    name: str
    title: str
    about: str
    figure: Figure
    summary: str = ""
    """its summary, a line for the terminal"""


def write_report(folders: list[Path], out: Path) -> list[str]:
    """Write the report, and its pictures into a directory beside it; return a summary in lines.

    The runs are only read; nothing else changes in their directories.
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
    with atomic_write(out) as unfinished:
        unfinished.write_text(page(title, facts, pictures, configs), encoding="utf-8")
    return [section.summary for section in sections if section.summary]


def pictures_of(out: Path) -> Path:
    """Return the directory for the pictures of a report."""
    return out.with_name(f"{out.stem}-pictures")


def _named(folders: list[Path]) -> dict[Path, str]:
    """Return short names: the last part of each path, or all of it if two were the same."""
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
        raise UserError(f"{folder}: nothing is logged yet; the first row comes at step {first}")
    return Entry(folder, name, config, rows)


def _facts(entry: Entry) -> list[Fact]:
    config, last = entry.config, entry.rows[-1]
    tests = [row for row in entry.rows if row.get("eval/mean_return") is not None]
    found = {
        "task": config.task,
        "agent": f"{config.agent}, preset {config.preset}, seed {config.seed}",
        "steps": f"{last['step']:,} of {config.steps:,}",
        "time": f"{(last.get('wall_seconds') or nan) / 60:.1f} minutes",
    }
    if tests:
        test = tests[-1]
        found["last test epoch"] = (
            f"mean return {test['eval/mean_return']:.2f} of {test.get('eval/episodes')} episodes, "
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
        draw_returns(runs, task_named(tasks.pop()).best_return if len(tasks) == 1 else None),
    )
    for entry in entries:
        yield from _agent_sections(entry, "" if len(entries) == 1 else f"-{entry.name}")
    inside = draw_inside(runs)
    if inside is not None:
        about = "The terms of the free energy, and what the table holds, over environment steps."
        yield Section("inside", "Model and table", about, inside)


def _agent_sections(entry: Entry, suffix: str) -> Iterator[Section]:
    """Return what an agent with states sees in its environment."""
    with open_readonly(entry.folder) as run:
        agent, config = run.agent, run.config
        if not isinstance(agent, VaST) or not len(agent.table):
            return
        env = make_env(config.task, config.wad, config.map)
        run.copy_env_settings(env)
        of = f" of {entry.name}" if suffix else ""
        try:
            views, world = None, env.unwrapped
            if isinstance(world, DoomMaze):
                plan = world.floor_plan()
                if config.task == "t-maze" and config.wad is None:
                    data = show_run(agent, env)
                    views, said = data.around, summarize(data)
                    yield Section(
                        f"one-run{suffix}",
                        f"One run from an arm never visited{of}",
                        f"{_arrows(data.around_values[0])} {ONE_RUN} {said}",
                        draw_one_run(plan, data),
                        f"{entry.name}: {said}" if suffix else said,
                    )
                else:
                    views = look_around(agent, env)
                    found = values(agent.table, views.states)
                    shown = draw_values(plan, views, found)
                    yield Section(f"values{suffix}", f"Values{of}", _arrows(found), shown)
            if len(agent.shape) == 3 and isinstance(agent.encoder, Tabulator):
                views = views or look_around(agent, env)
                shown = draw_frames(views, agent.encoder)
                yield Section(f"frames{suffix}", f"Frames{of}", FRAMES, shown)
        finally:
            env.close()


ARROWS = (
    "Each arrow is an observation at its position and heading, coloured by the value of its state. "
    "Half of the agent's actions were random; observations whose state is not in the table "
    "({unknown:.0%}) are left out."
)
ONE_RUN = (
    "Outlined arrows are those of the forced run (Fig. 1C and D of the paper): 20 steps without "
    "reward, from an arm that an invisible wall (dotted) had shut during training. Grey: not in "
    "the table before."
)
FRAMES = (
    "Above, observations as they are stored; below, the decoder's reconstruction from the state of "
    "each."
)


def _arrows(found: NDArray[np.float64]) -> str:
    return ARROWS.format(unknown=float(np.isnan(found).mean()))
