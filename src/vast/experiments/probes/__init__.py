"""Probes: what is measured on a trained agent after its run, without changing the run.

A probe is a function of a run opened for reading; it returns what JSON can hold. Experiments name
the probes of their runs, and the results are in `probes.json` of the run directory.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, NamedTuple

from vast.errors import UserError, unknown
from vast.experiments.run_directory import read_probes, write_probes

Probe = Callable[[Any], dict[str, Any]]

TABLE = ("vast", "lsh", "bins")
"""agents with a table"""


class Kind(NamedTuple):
    """A probe, and which runs it fits."""

    function: str
    """where it is"""
    agents: tuple[str, ...] = ()
    """that it needs one of; none: any"""
    tasks: tuple[str, ...] = ()
    """that it needs one of; none: what it needs shows when it is taken"""
    plain: bool = False
    """whether VaST must have no extension"""


HERE = "vast.experiments.probes"
MAZES = ("large-maze", "large-maze-hazards")
PROBES = {
    "hazards": Kind(f"{HERE}.follow_up:hazards", tasks=MAZES),
    "teleporter": Kind(f"{HERE}.follow_up:teleporter", tasks=("h-maze",)),
    "decisions": Kind(f"{HERE}.decisions:decisions", agents=("vast",), plain=True),
    "places": Kind(f"{HERE}.places:places", agents=TABLE),
    "ball": Kind(f"{HERE}.ball:ball", agents=TABLE),
    "one-run": Kind(f"{HERE}.values:one_run", agents=("vast",), tasks=("t-maze",)),
    "sightings": Kind(f"{HERE}.sightings:sightings", agents=("vast",), tasks=("t-maze",)),
    "networks": Kind(f"{HERE}.networks:networks", agents=("vast",)),
    "frames": Kind(f"{HERE}.repeated_frames:repeated_frames"),
    "tree": Kind(f"{HERE}.tree:tree", agents=TABLE),
}
"""the probes by name"""


def probe_named(name: str) -> Probe:
    """Return a probe; UserError if there is none."""
    found: Probe = resolve_name(_kind(name).function)
    return found


def require_fits(name: str, config: Any) -> None:
    """Raise UserError unless a probe fits runs with this config."""
    kind = _kind(name)
    for what, value, allowed in (
        ("agent", config.agent, kind.agents),
        ("task", config.task, kind.tasks),
    ):
        if allowed and value not in allowed:
            these = " or ".join(allowed)
            raise UserError(f"the probe {name!r} needs the {what} {these}, got {value}")
    if kind.plain and config.settings.extensions != type(config.settings.extensions)():
        raise UserError(f"the probe {name!r} needs VaST without extensions (extensions = [])")


def _kind(name: str) -> Kind:
    if name not in PROBES:
        raise unknown("probe", name, PROBES)
    return PROBES[name]


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
