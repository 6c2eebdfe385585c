"""Runs that are called the same and are not: names of arms say how their configs differ."""

from collections.abc import Sequence
from dataclasses import replace

from vast.analysis.arms import flat
from vast.errors import UserError
from vast.experiments.results import RunRecord

SAME_ARM = {"seed": 0, "steps": 0, "threads": 1, "device": "cpu"}
"""in which runs of one arm may differ"""


def told_apart(records: Sequence[RunRecord]) -> list[RunRecord]:
    """Return the records; where configs in one arm differ, its name says in which fields."""
    groups: dict[tuple[str, str, str | None], list[RunRecord]] = {}
    for run in records:
        groups.setdefault((run.task, run.arm, run.fork), []).append(run)
    named = {id(run): words for runs in groups.values() for run, words in _differences(runs)}
    return [
        replace(
            run,
            arm=" ".join([run.arm, *named[id(run)]]),
            label=", ".join([run.label, *named[id(run)]]),
        )
        for run in records
    ]


def longest(records: Sequence[RunRecord]) -> list[RunRecord]:
    """Return the records without those that are the beginning of a longer one.

    UserError if a run is given twice.
    """
    found: dict[tuple[str, str, str | None, int], RunRecord] = {}
    for run in records:
        key = run.task, run.arm, run.fork, run.seed
        if key in found and found[key].steps == run.steps:
            raise UserError(f"seed {run.seed} of {run.arm!r} on {run.task} is given twice")
        if key not in found or found[key].steps < run.steps:
            found[key] = run
    return list(found.values())


def _differences(runs: Sequence[RunRecord]) -> list[tuple[RunRecord, list[str]]]:
    """Return for each run the fields in which some of them differ, and its values."""
    configs = [dict(flat({**run.config, **SAME_ARM})) for run in runs]
    differing = [
        field
        for field in sorted({field for config in configs for field in config})
        if len({repr(config.get(field)) for config in configs}) > 1
    ]
    return [
        (run, [f"{field.removeprefix('settings.')}={config.get(field)}" for field in differing])
        for run, config in zip(runs, configs, strict=True)
    ]
