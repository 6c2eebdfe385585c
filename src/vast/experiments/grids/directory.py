"""The directory of a grid: `grid.json` says which runs there are, `runs/` has their directories.

`grid.json` has every config in full, so that a grid means the same whatever later versions make of
a preset. `attempts.jsonl` says what became of each process that worked on a run.
"""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from vast.errors import UserError
from vast.experiments import run_directory
from vast.experiments.lock import LOCK
from vast.experiments.spec import Condition
from vast.files import atomic_write
from vast.training.plain import first_difference, to_plain

FORMAT, VERSION = "vast grid", 1
GRID, RUNS, ATTEMPTS, LOGS = "grid.json", "runs", "attempts.jsonl", "logs"


@dataclass(frozen=True)
class GridRun:
    """One run of a grid."""

    condition: Condition
    seed: int

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def name(self) -> str:
        """The name of its directory."""
        return self.condition.run_name(self.seed)

    @property
    def steps(self) -> int:
        """Environment steps in all."""
        return self.condition.config.steps

    @property
    def cores(self) -> int:
        """The cores that the run gets: the one number by which processes are pinned."""
        return self.condition.config.threads


@dataclass(frozen=True)
class Grid:
    """What is to be run."""

    name: str
    scale: str
    conditions: tuple[Condition, ...]

    def runs(self) -> list[GridRun]:
        """Return all runs, seed by seed, so that early results cover all conditions."""
        seeds = sorted({seed for condition in self.conditions for seed in condition.seeds})
        return [
            GridRun(condition, seed)
            for seed in seeds
            for condition in self.conditions
            if seed in condition.seeds
        ]

    def trunk(self, run: GridRun) -> GridRun | None:
        """Return the run that another one is forked from; None if it is not."""
        if run.condition.fork is None:
            return None
        found = {condition.key: condition for condition in self.conditions}
        return GridRun(found[run.condition.trunk], run.seed)


def is_grid(directory: Path) -> bool:
    """Tell whether this is the directory of a grid."""
    return (directory / GRID).is_file()


def run_directory_of(directory: Path, run: GridRun) -> Path:
    """Return where a run of a grid is."""
    return directory / RUNS / run.name


def saved_steps(run: Path) -> int:
    """Return up to which step a run was saved; -1 if it never was."""
    try:
        lines = (run / run_directory.SAVES).read_text(encoding="utf-8").splitlines()
        return int(json.loads(lines[-1])["step"])
    except (OSError, ValueError, KeyError, TypeError, IndexError):
        return -1  # unfinished lines of a killed process included: the run looks for itself


def is_done(directory: Path, run: GridRun) -> bool:
    """Tell whether a run is finished, and all its probes were taken."""
    here = run_directory_of(directory, run)
    if saved_steps(here) < run.steps:
        return False
    return {*run.condition.probes} <= {*run_directory.read_probes(here)}


# --- grid.json ------------------------------------------------------------------------------------


def write_grid(directory: Path, grid: Grid) -> Grid:
    """Write a grid; return it together with what the directory holds already.

    More arms, seeds, tasks and steps may be added to a grid. UserError, and nothing changed, if a
    condition differs otherwise, or if the directory holds something else.
    """
    before = read_grid(directory) if is_grid(directory) else None
    there = {path.name for path in directory.iterdir()} if directory.exists() else set()
    if before is None and there - {LOCK}:
        raise UserError(f"{directory} is not empty and not a grid: choose another --out")
    joined = grid if before is None else _joined(directory, before, grid)
    content = {
        "format": FORMAT,
        "version": VERSION,
        "name": joined.name,
        "scale": joined.scale,
        "conditions": [_plain(condition) for condition in joined.conditions],
    }
    text = json.dumps(content, indent=1) + "\n"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with atomic_write(directory / GRID) as unfinished:
            unfinished.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot write {directory}: {error.strerror}") from error
    return joined


def _joined(directory: Path, before: Grid, new: Grid) -> Grid:
    """Return both grids as one."""
    if (before.name, before.scale) != (new.name, new.scale):
        raise UserError(
            f"{directory} holds another grid, {before.name} at scale {before.scale}: choose "
            "another --out"
        )
    found = {condition.key: condition for condition in before.conditions}
    # A trunk cannot become longer: its forks began where it ended.
    trunks = {condition.trunk for condition in before.conditions if condition.fork}
    for condition in new.conditions:
        there = found.get(condition.key)
        if there is not None:
            _require_same(directory, there, condition, longer=condition.key not in trunks)
            steps = max(there.config.steps, condition.config.steps)
            condition = replace(
                condition,
                seeds=tuple(sorted({*there.seeds, *condition.seeds})),
                config=replace(condition.config, steps=steps),
            )
        found[condition.key] = condition
    return replace(new, conditions=tuple(found.values()))


def _require_same(directory: Path, there: Condition, here: Condition, longer: bool) -> None:
    """Raise UserError unless two conditions have the same config, but for a number of steps."""
    if longer:
        there = replace(there, config=replace(there.config, steps=here.config.steps))
    difference = first_difference(
        to_plain(there.config, full=True), to_plain(here.config, full=True)
    )
    if difference is not None:
        raise UserError(
            f"{directory} holds another grid: in {there.name}, {difference}; choose another --out"
        )


def _plain(condition: Condition) -> dict[str, Any]:
    return {
        "task": condition.task,
        "arm": condition.arm,
        "fork": condition.fork,
        "label": condition.label,
        "seeds": list(condition.seeds),
        "probes": list(condition.probes),
        "begins": condition.begins,
        "config": to_plain(condition.config),
    }


def read_grid(directory: Path) -> Grid:
    """Return the grid of a directory; UserError if it is none."""
    path = directory / GRID
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"{directory} is not a grid: there is no {path}") from None
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, RecursionError):
        raise UserError(f"{directory} is not a grid: {GRID} is not JSON") from None
    if not isinstance(content, Mapping) or content.get("format") != FORMAT:
        raise UserError(f"{directory} is not a grid: {GRID} belongs to something else")
    if content.get("version") != VERSION:
        raise UserError(
            f"{directory}: its format must be version {VERSION}, got {content.get('version')!r}"
        )
    try:
        conditions = tuple(_condition(plain) for plain in content["conditions"])
        return Grid(str(content["name"]), str(content["scale"]), conditions)
    except (KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{path} is damaged: {error!r}") from error


def _condition(plain: Mapping[str, Any]) -> Condition:
    return Condition(
        task=str(plain["task"]),
        arm=str(plain["arm"]),
        fork=None if plain["fork"] is None else str(plain["fork"]),
        label=str(plain["label"]),
        seeds=tuple(int(seed) for seed in plain["seeds"]),
        config=run_directory.run_config(plain["config"]),
        probes=tuple(str(name) for name in plain["probes"]),
        begins=int(plain["begins"]),
    )


# --- attempts.jsonl -------------------------------------------------------------------------------


def note_attempt(directory: Path, entry: Mapping[str, Any]) -> None:
    """Append what became of an attempt; one write, as several processes may do so."""
    line = (json.dumps(entry) + "\n").encode()
    try:
        opened = os.open(directory / ATTEMPTS, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(opened, line)
        finally:
            os.close(opened)
    except OSError as error:
        raise UserError(f"cannot write {directory / ATTEMPTS}: {error.strerror}") from error


def attempts(directory: Path) -> Iterator[dict[str, Any]]:
    """Yield the attempts so far; a line that was not finished is left out."""
    path = directory / ATTEMPTS
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            yield json.loads(line)
        except ValueError:
            continue
