"""Probes: what is measured on a trained agent after its run, without changing the run.

A probe is a function of a run opened for reading; it returns what JSON can hold. Experiments name
the probes of their runs, and the results are in `probes.json` of the run directory.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from vast.errors import unknown
from vast.experiments.run_directory import read_probes, write_probes

Probe = Callable[[Any], dict[str, Any]]

PROBES = {
    "hazards": "vast.experiments.probes.follow_up:hazards",
    "teleporter": "vast.experiments.probes.follow_up:teleporter",
    "decisions": "vast.experiments.probes.decisions:decisions",
    "places": "vast.experiments.probes.places:places",
    "ball": "vast.experiments.probes.ball:ball",
    "one-run": "vast.experiments.probes.values:one_run",
    "sightings": "vast.experiments.probes.sightings:sightings",
    "networks": "vast.experiments.probes.networks:networks",
    "frames": "vast.experiments.probes.repeated_frames:repeated_frames",
    "tree": "vast.experiments.probes.tree:tree",
}
"""the probes by name, and where they are"""


def probe_named(name: str) -> Probe:
    """Return a probe; UserError if there is none."""
    if name not in PROBES:
        raise unknown("probe", name, PROBES)
    found: Probe = resolve_name(PROBES[name])
    return found


def run_probes(directory: Path, names: Iterable[str]) -> None:
    """Take those probes of a finished run that were not taken yet."""
    from vast.experiments.runs import open_readonly  # which loads torch

    found = read_probes(directory)
    for name in names:
        if name not in found:
            probe = probe_named(name)
            # Opened anew for each: a probe may change its copy of the agent.
            with open_readonly(directory) as run:
                found[name] = probe(run)
            write_probes(directory, found)
