"""The figures of the paper by name: from a grid, or from the results that ship with the package."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import NamedTuple

from matplotlib.figure import Figure

from vast.analysis.paper.panels import save_figure
from vast.analysis.told_apart import longest, told_apart
from vast.errors import UserError, unknown
from vast.experiments.results import RunRecord, load_published, load_runs, published_names

HERE = "vast.analysis.paper"
SCALE = "cpu"
"""of the published results that are drawn"""


@dataclass(frozen=True)
class PaperFigure:
    """How a figure is drawn, and from which grids."""

    draw: str
    """the function of records that returns it"""
    grids: tuple[str, ...]
    """whose runs it shows"""
    without_runs: bool = False
    """whether a part of it needs no runs"""
    probe: str | None = None
    """what it shows of a single trained agent"""
    task: str | None = None
    """on which this agent must have been trained; None: any"""


FIGURES = {
    "fig1": PaperFigure(
        f"{HERE}.fig1:draw", ("fig1",), without_runs=True, probe="sightings", task="t-maze"
    ),
    "fig2": PaperFigure(f"{HERE}.fig2:draw", ("fig1",), probe="networks"),
    "fig3": PaperFigure(f"{HERE}.fig3:draw", ("fig3",)),
    "fig4": PaperFigure(f"{HERE}.fig4:draw", ("fig4",)),
    "fig5": PaperFigure(f"{HERE}.fig5:draw", ("fig5",)),
    "fig6": PaperFigure(f"{HERE}.fig6:draw", ("fig6",)),
    "fig7": PaperFigure(f"{HERE}.fig7:draw", ("fig7", "pong-long")),
    "figS1": PaperFigure(f"{HERE}.figS1:draw", ("fig4", "figS1")),
    "figS2": PaperFigure(f"{HERE}.figS2:draw", ("fig5",)),
    "figS3": PaperFigure(f"{HERE}.fig7:draw_terms", ("fig7",)),
}


class Drawn(NamedTuple):
    """What was written."""

    files: list[Path]
    note: str | None
    """what is missing in it"""


def draw_figure(name: str, out: Path, sources: Sequence[Path] = ()) -> Drawn:
    """Draw a figure into the directory `out`, as PNG and PDF.

    The runs are those of the grids or run directories given, or else those published.
    """
    if name not in FIGURES:
        raise unknown("figure", name, FIGURES)
    figure = FIGURES[name]
    records = given_records(name, sources) if sources else published_records(name)
    note = None if records else how_to_run(name)
    if note and not figure.without_runs:
        raise UserError(note)
    draw: Callable[[Sequence[RunRecord]], Figure] = resolve_name(figure.draw)
    return Drawn(save_figure(draw(records), out, name), note)


def given_records(name: str, sources: Sequence[Path]) -> list[RunRecord]:
    """Return the runs of grids or run directories that a figure may show."""
    figure = FIGURES[name]
    if figure.probe is None:
        found = longest(told_apart(load_runs(sources)))
        if not found:
            given = ", ".join(map(str, sources))
            raise UserError(f"{name} needs runs that have begun, got none in {given}")
        return found
    from vast.analysis.paper.probed import probe_sources  # which loads torch

    probed = probe_sources(sources, figure.probe, figure.task)
    if not probed:
        on = f" on {figure.task}" if figure.task else ""
        raise UserError(f"{name} needs a trained run of VaST{on}, got none")
    return probed


def published_records(name: str) -> list[RunRecord]:
    """Return the published runs of a figure; none if there are none yet."""
    there = published_names()
    grids = [f"{grid}-{SCALE}" for grid in FIGURES[name].grids]
    return [record for grid in grids if grid in there for record in load_published(grid)]


def how_to_run(name: str) -> str:
    """Return in one line how to get the runs of a figure without published results."""
    figure = FIGURES[name]
    grids = [f"grids/{grid}-{SCALE}" for grid in figure.grids]
    runs = " and ".join(
        f"vast grid {grid} --out {out}" for grid, out in zip(figure.grids, grids, strict=True)
    )
    what = "C and D of fig1 have" if figure.without_runs else f"{name} has"
    return (
        f"{what} no published results yet: {runs}, then vast figure {name} --from {' '.join(grids)}"
    )
