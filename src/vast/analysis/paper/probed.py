"""What was measured on trained agents, for the figures that show one of them."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vast.analysis.paper.lines import kind
from vast.experiments.grids.directory import RUNS, is_grid, read_grid, saved_steps
from vast.experiments.probes import probe_named
from vast.experiments.results import RunRecord, load_run
from vast.experiments.runs import open_readonly

PREFERRED = ("plain-vast", "vast")
"""the paper's algorithm first"""


def first_with(records: Sequence[RunRecord], probe: str) -> RunRecord | None:
    """Return the run to show: of the paper's algorithm if there is one, with the smallest seed."""
    found = [record for record in records if record.probes.get(probe) and kind(record) in PREFERRED]
    order = sorted(found, key=lambda record: (PREFERRED.index(kind(record)), record.seed))
    return order[0] if order else None


def probe_sources(sources: Sequence[Path], probe: str, task: str | None) -> list[RunRecord]:
    """Return runs with the results of a probe; if none has them, take the probe of the first one.

    Only runs of VaST on the task count. The directories are not changed.
    """
    found = []
    for source in sources:
        found += _runs_of(source)
    suitable = [
        (path, record)
        for path, record in found
        if record.agent == "vast" and (task is None or record.task == task)
    ]
    records = [record for _, record in suitable]
    if first_with(records, probe) or not suitable:
        return records
    path, record = min(suitable, key=lambda pair: (PREFERRED.index(kind(pair[1])), pair[1].seed))
    with open_readonly(path) as run:
        return [replace(record, probes={**record.probes, probe: probe_named(probe)(run)})]


def _runs_of(source: Path) -> list[tuple[Path, RunRecord]]:
    """Return the runs of a grid that have been saved, or the run of a directory."""
    if not is_grid(source):
        return [(source, load_run(source))]
    return [
        (path, load_run(path, run.condition))
        for run in read_grid(source).runs()
        if saved_steps(path := source / RUNS / run.name) > 0
    ]


def numbers(values: Sequence[Any], width: int | None = None) -> NDArray[np.float64]:
    """Return numbers of JSON as an array, nan where they are not known; rows of `width`."""
    if width is None:
        return np.array(values, float)
    return np.array([[np.nan] * width if row is None else row for row in values], float).reshape(
        -1, width
    )
