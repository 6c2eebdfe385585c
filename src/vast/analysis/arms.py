"""Runs grouped by arm: the same task, agent and hyperparameters, with different seeds.

What differs between the arms names them.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vast.agents.vast.config import ExtensionsConfig
from vast.analysis.drawing import AGENT_COLOURS
from vast.errors import UserError
from vast.experiments import run_directory as files
from vast.experiments.config import RunConfig
from vast.training.device import CPU
from vast.training.metrics import read_metrics
from vast.training.plain import to_plain

Rows = Sequence[Mapping[str, Any]]
"""of a metrics.jsonl"""
Floats = NDArray[np.float64]

LARGEST = 1e100
"""that is drawn: axes are scaled by products of larger numbers, which overflow"""
MOST_DIFFERENCES = 3
"""hyperparameters that name an arm; if there are more, the rest is counted"""
ABBREVIATED = {"plain-vast": "plain VaST", "vast": "VaST"}
"""agents that are called something else in a legend; all others by their name in capitals"""


@dataclass(frozen=True)
class LoggedRun:
    """What was written about a run: its config and its metrics."""

    directory: Path
    config: RunConfig
    rows: Rows
    name: str
    """a short one, unique among the runs read together"""

    @property
    def steps(self) -> int:
        """Environment steps of the last row; 0 if nothing is logged yet."""
        return int(self.rows[-1]["step"]) if self.rows else 0

    def series(self, key: str) -> tuple[Floats, Floats]:
        """Return the steps at which a metric was logged, and its values, if they can be drawn."""
        known = ((row["step"], row.get(key)) for row in self.rows)
        found = [
            (step, value)
            for step, value in known
            if value is not None and abs(step) <= LARGEST and abs(value) <= LARGEST
        ]
        steps, values = np.array(found, np.float64).reshape(-1, 2).T
        return steps, values

    def recorded(self, name: str) -> Any:
        """Return what config.json says beside the config: "versions", "processor"."""
        content = json.loads((self.directory / files.CONFIG).read_text(encoding="utf-8"))
        return content.get(name)


@dataclass(frozen=True)
class Curve:
    """A metric over steps: the mean over the runs of an arm."""

    steps: Floats
    mean: Floats
    spread: Floats
    """standard deviation between the runs; 0 where there is one"""
    runs: NDArray[np.int64]
    """how many runs the mean is of; fewer where some ended earlier"""


@dataclass(frozen=True)
class Arm:
    """Runs that differ in their seeds only."""

    name: str
    runs: tuple[LoggedRun, ...]
    colour: str
    dashes: tuple[float, ...] = ()
    """the pattern of its lines, where there are more arms than colours; (): solid"""

    @property
    def config(self) -> RunConfig:
        """Return the config, but for the seed and the number of steps."""
        return self.runs[0].config

    def curve(self, key: str) -> Curve:
        """Return the mean of a metric, at steps at which every run that got there logged it."""
        logged = [run.series(key) for run in self.runs]
        logged = [series for series in logged if len(series[0])]
        if not logged:
            nothing = np.zeros(0)
            return Curve(nothing, nothing, nothing, nothing.astype(np.int64))
        steps = np.unique(np.concatenate([steps for steps, _ in logged]))
        values = np.full((len(logged), len(steps)), np.nan)
        for row, (at, value) in zip(values, logged, strict=True):
            row[np.searchsorted(steps, at)] = value
        ended = steps > np.array([[at[-1]] for at, _ in logged])
        whole = (np.isfinite(values) | ended).all(axis=0)
        values, n = values[:, whole], np.isfinite(values[:, whole]).sum(axis=0)
        spread = np.nanstd(values, axis=0, ddof=0) * np.sqrt(n / np.maximum(n - 1, 1))
        return Curve(steps[whole], np.nanmean(values, axis=0), spread, n)


def load_arms(*directories: str | Path) -> list[Arm]:
    """Return the runs in these directories, grouped by arm."""
    return group(read_runs([Path(directory) for directory in directories]))


# --- reading ------------------------------------------------------------------------------------


def read_runs(directories: Sequence[Path]) -> list[LoggedRun]:
    """Return the runs in these directories; a directory of runs, such as a grid's, stands for all.

    UserError if one is neither.
    """
    found = list(dict.fromkeys(run for place in directories for run in _runs_in(place)))
    names = _short_names(found)
    return [
        LoggedRun(place, files.read_config(place), _rows(place), name)
        for place, name in zip(found, names, strict=True)
    ]


def _runs_in(directory: Path) -> list[Path]:
    if (directory / files.CONFIG).exists():
        return [directory]
    inside = [
        config.parent
        for folder in (directory, directory / "runs")
        for config in sorted(folder.glob(f"[!.]*/{files.CONFIG}"))  # not a copy that was killed
    ]
    return inside or [directory]  # which `read_config` then refuses


def _rows(directory: Path) -> Rows:
    path = directory / files.METRICS
    return read_metrics(path) if path.exists() else []


def _short_names(directories: Sequence[Path]) -> list[str]:
    """Return the last part of each path, or all of it if two were the same."""
    names = [directory.resolve().name for directory in directories]
    return names if len(set(names)) == len(names) else [str(path) for path in directories]


# --- grouping -----------------------------------------------------------------------------------


def group(runs: Sequence[LoggedRun]) -> list[Arm]:
    """Return the arms of some runs, in the order in which they first occur; UserError if none."""
    if not runs:
        raise UserError("there must be one run or more")
    arms: dict[str, list[LoggedRun]] = {}
    for run in runs:
        arms.setdefault(json.dumps(_identity(run.config), sort_keys=True), []).append(run)
    grouped = [sorted(arm, key=lambda run: run.config.seed) for arm in arms.values()]
    names = arm_names([arm[0].config for arm in grouped])
    looks = _looks([agent_kind(arm[0].config) for arm in grouped])
    return [
        Arm(name, tuple(arm), *look) for name, arm, look in zip(names, grouped, looks, strict=True)
    ]


def _identity(config: RunConfig) -> Any:
    """Return what runs of one arm have in common; a map file counts by its content."""
    own_map = "" if config.wad_sha256 else config.wad
    return to_plain(replace(config, seed=0, steps=1, threads=1, device=CPU, wad=own_map), full=True)


def agent_kind(config: RunConfig) -> str:
    """Return the name of the agent; VaST without extensions is "plain-vast"."""
    plain = getattr(config.settings, "extensions", None) == ExtensionsConfig()
    return f"plain-{config.agent}" if config.agent == "vast" and plain else config.agent


def arm_names(configs: Sequence[RunConfig]) -> list[str]:
    """Return a name for each config: its agent, and what else tells it from the others."""
    kinds = [agent_kind(config) for config in configs]
    several_tasks = len({config.task for config in configs}) > 1
    names = []
    for config, kind in zip(configs, kinds, strict=True):
        name = ABBREVIATED.get(kind, kind.upper())
        if several_tasks:
            name = f"{config.task}, {name}"
        rivals = [
            other
            for other, its in zip(configs, kinds, strict=True)
            if its == kind and other.task == config.task
        ]
        names.append(", ".join([name, *_differences(config, rivals)]))
    return names


def _differences(config: RunConfig, rivals: Sequence[RunConfig]) -> list[str]:
    """Return the fields in which a config differs from others of its agent, and their values."""
    if len(rivals) == 1:
        return []
    if len({other.preset for other in rivals}) == len(rivals):
        return [config.preset]
    plain = [dict(flat(_identity(other))) for other in rivals]
    own = dict(flat(_identity(config)))
    fields = dict.fromkeys(name for other in plain for name in other)
    differ = [name for name in fields if len({str(other.get(name)) for other in plain}) > 1]
    shown = [
        f"{name.removeprefix('settings.')} {_brief(own.get(name))}"
        for name in differ[:MOST_DIFFERENCES]
    ]
    more = len(differ) - len(shown)
    return [*shown, f"{more} more"] if more else shown


def _brief(value: Any) -> str:
    if isinstance(value, list):
        return " ".join(map(str, value)) or "none"
    if isinstance(value, bool):
        return "on" if value else "off"
    return "none" if value is None else str(value)


def flat(config: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield nested fields as names with dots, and their values."""
    for name, value in config.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _looks(kinds: Sequence[str]) -> Iterator[tuple[str, tuple[float, ...]]]:
    """Yield a colour and a pattern of lines for each arm: the agent's own colour, once."""
    own = {kind: AGENT_COLOURS[kind] for kind in kinds if kind in AGENT_COLOURS}
    spare = [colour for colour in AGENT_COLOURS.values() if colour not in own.values()]
    patterns = cycle([(4.0, 1.5), (1.0, 1.0), (6.0, 1.5, 1.0, 1.5)])
    dashes: tuple[float, ...] = ()
    for kind in kinds:
        if kind in own:
            yield own.pop(kind), ()
            continue
        if not spare:
            spare, dashes = [*AGENT_COLOURS.values()], next(patterns)
        yield spare.pop(0), dashes
