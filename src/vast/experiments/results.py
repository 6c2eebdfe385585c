"""What came out of runs: one record per run, read from a grid, from runs, or from the package.

    records = load_grid(Path("grids/fig3-cpu"))     # finished and unfinished runs of a grid
    records = load_runs([Path("runs/a"), Path("grids/fig3-cpu")])
    records = load_published("fig3-cpu")            # what ships with the package
    report = load_study("plus-maze")                # earlier records, of test epochs only
    steps, rewards = records[0].curve("eval/reward_per_step")

Published results are package data: one compressed JSON file per run, in a directory per grid.
"""

import gzip
import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vast.errors import UserError, unknown
from vast.experiments import run_directory
from vast.experiments.config import RunConfig
from vast.experiments.grids.directory import RUNS, is_grid, read_grid
from vast.experiments.spec import Condition
from vast.training.metrics import CLOCKS, read_metrics

FORMAT, VERSION = "vast record", 1
Column = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RunRecord:
    """One run: what it was, and all its metrics."""

    task: str
    arm: str
    """the arm of its grid; of a run without a grid, its agent"""
    fork: str | None
    """the continuation of a trained agent; None: not forked, or the training up to the fork"""
    seed: int
    agent: str
    label: str
    """what figures call the arm"""
    steps: int
    """environment steps that the run was to have"""
    config: Mapping[str, Any]
    """everything it depends on, as in its config.json"""
    versions: Mapping[str, str]
    processor: str
    metrics: Mapping[str, Column]
    """by the names of docs/runs.md, one value per row; `step` and `wall_seconds` among them; NaN
    where a row does not have it"""
    probes: Mapping[str, Any] = field(default_factory=dict)
    """what was measured on the trained agent, by the name of the probe"""

    @property
    def interventions(self) -> tuple[str, ...]:
        """What happened when, as STEP:WHAT."""
        return tuple(self.config.get("interventions", ()))

    @property
    def wall_seconds(self) -> float:
        """Time spent in the run; that of a fork includes the training before it."""
        wall = self.metrics["wall_seconds"]
        return float(wall[-1]) if len(wall) else 0.0

    @property
    def is_done(self) -> bool:
        """Whether it has all its rows; the last one may lie before the last step."""
        every = int(self.config["loop"]["log_every"])
        last = self.metrics["step"]
        return len(last) > 0 and int(last[-1]) >= self.steps // every * every

    def curve(self, name: str) -> tuple[Column, Column]:
        """Return the steps at which a metric is known, and its values; empty if it never is."""
        values = self.metrics.get(name)
        if values is None:
            return np.empty(0), np.empty(0)
        known = ~np.isnan(values)
        return self.metrics["step"][known], values[known]


# --- from directories -----------------------------------------------------------------------------


def load_runs(directories: Iterable[Path]) -> list[RunRecord]:
    """Return the records of run directories, and of all runs of grids, in the order given."""
    found: list[RunRecord] = []
    for directory in map(Path, directories):
        found += load_grid(directory) if is_grid(directory) else [load_run(directory)]
    return found


def load_grid(directory: Path) -> list[RunRecord]:
    """Return the records of those runs of a grid that have begun."""
    directory = Path(directory)
    return [
        load_run(directory / RUNS / run.name, run.condition)
        for run in read_grid(directory).runs()
        if (directory / RUNS / run.name / run_directory.METRICS).exists()
    ]


def load_run(directory: Path, condition: Condition | None = None) -> RunRecord:
    """Return the record of one run; UserError if it is none."""
    config: RunConfig = run_directory.read_config(directory)
    content = json.loads((directory / run_directory.CONFIG).read_text(encoding="utf-8"))
    path = directory / run_directory.METRICS
    rows = [row for row in read_metrics(path) if row["step"] <= config.steps]
    return RunRecord(
        task=config.task,
        arm=condition.arm if condition else config.agent,
        fork=condition.fork if condition else None,
        seed=config.seed,
        agent=config.agent,
        label=condition.label if condition else config.agent,
        steps=config.steps,
        config=content["config"],
        versions=content.get("versions", {}),
        processor=content.get("processor", ""),
        metrics=columns(rows),
        probes=run_directory.read_probes(directory),
    )


def columns(rows: Sequence[Mapping[str, float | None]]) -> dict[str, Column]:
    """Return rows of metrics as columns, NaN where a row has no value."""
    names = dict.fromkeys([*CLOCKS, *(name for row in rows for name in row)])
    return {name: np.array([row.get(name) for row in rows], np.float64) for name in names}


# --- package data ---------------------------------------------------------------------------------


def published() -> Traversable:
    """Return the directory of the results that ship with the package."""
    return files("vast").joinpath("results")


def published_names() -> list[str]:
    """Return the grids whose results ship with the package."""
    folder = published()
    found = folder.iterdir() if folder.is_dir() else iter(())
    return sorted(
        part.name
        for part in found
        if part.is_dir() and any(file.name.endswith(RECORD_FILE) for file in part.iterdir())
    )


RECORD_FILE = ".json.gz"


def load_published(name: str) -> list[RunRecord]:
    """Return the published records of a grid, such as fig3-cpu; UserError if there are none."""
    names = published_names()
    if name not in names:
        raise unknown("published result", name, names)
    found = sorted(published().joinpath(name).iterdir(), key=lambda file: file.name)
    records = [unpacked(file.read_bytes()) for file in found if file.name.endswith(RECORD_FILE)]
    return sorted(records, key=lambda record: record.seed)


def study_names() -> list[str]:
    """Return the studies that were recorded before there were grids, with test epochs only."""
    return sorted(file.name.removesuffix(".json") for file in _studies().iterdir())


def load_study(name: str) -> dict[str, Any]:
    """Return the record of such a study, by its name."""
    if name not in study_names():
        raise unknown("recorded study", name, study_names())
    found: dict[str, Any] = json.loads(_studies().joinpath(f"{name}.json").read_text("utf-8"))
    return found


def _studies() -> Traversable:
    return published().joinpath("studies")


def packed(record: RunRecord) -> bytes:
    """Return a record as compressed JSON; numbers have six significant digits."""
    content = {
        "format": FORMAT,
        "version": VERSION,
        **{
            name: getattr(record, name)
            for name in ("task", "arm", "fork", "seed", "agent", "label", "steps", "config")
        },
        "versions": record.versions,
        "processor": record.processor,
        "probes": record.probes,
        "metrics": {
            name: [_short(value) for value in values.tolist()]
            for name, values in record.metrics.items()
        },
    }
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    return gzip.compress(text.encode(), 9, mtime=0)


def unpacked(content: bytes) -> RunRecord:
    """Return the record of a published file; UserError if it is none."""
    try:
        plain = json.loads(gzip.decompress(content))
        if plain.pop("format") != FORMAT or plain.pop("version") != VERSION:
            raise ValueError
        metrics = {name: np.array(values, float) for name, values in plain["metrics"].items()}
        return RunRecord(**{**plain, "metrics": metrics})
    except (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError, AttributeError):
        raise UserError(f"this is not a published record of version {VERSION}") from None


def _short(value: float) -> float | int | None:
    if not np.isfinite(value):
        return None
    return int(value) if value == int(value) and abs(value) < 2**53 else float(f"{value:.6g}")
