"""The lines of a figure: the curves of an arm, seed by seed, and their mean."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from vast.analysis.drawing import AGENT_COLOURS
from vast.analysis.statistics import standard_error
from vast.analysis.statistics.estimates import interval_caveat
from vast.errors import UserError
from vast.experiments.results import RunRecord

Curve = tuple[NDArray[np.float64], NDArray[np.float64]]
"""steps and values"""
OTHER = "#555555"
"""of an agent without a colour of its own"""
KINDS = {
    "vast": "VaST with extensions",
    "plain-vast": "plain VaST",
    "nec": "NEC",
    "ddqn": "Prioritized DDQN",
    "lsh": "LSH",
    "mfec": "MFEC",
}
"""agents in the order of legends, and what figures call them"""


@dataclass(frozen=True)
class Line:
    """What is drawn of one arm."""

    name: str
    """of the arm"""
    label: str
    """in the legend"""
    colour: str
    runs: Mapping[int, Curve]
    """by seed"""
    dashed: bool = False

    @property
    def n(self) -> int:
        """Seeds."""
        return len(self.runs)

    def table(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the steps that all seeds have, and the values [seed, step]."""
        curves = list(self.runs.values())
        steps = curves[0][0]
        for at, _ in curves[1:]:
            steps = np.intersect1d(steps, at)
        return steps, np.array([values[np.searchsorted(at, steps)] for at, values in curves])

    def mean(self) -> Curve:
        """Return the mean over seeds, where all have a value."""
        steps, values = self.table()
        return steps, values.mean(axis=0)

    def standard_error(self) -> NDArray[np.float64]:
        """Return the standard error of the mean, at the same steps."""
        return standard_error(self.table()[1])


def kind(record: RunRecord) -> str:
    """Return the agent of a run; VaST without extensions is `plain-vast`."""
    plain = record.agent == "vast" and not record.config["settings"].get("extensions")
    return "plain-vast" if plain else record.agent


def agent_label(record: RunRecord) -> str:
    """Return what figures call the agent of a run; as published, VaST has no other name."""
    agent = kind(record)
    if agent == "plain-vast" and record.config.get("preset") == "paper":
        return "VaST"
    return KINDS.get(agent, record.label)


def agent_of(records: Iterable[RunRecord]) -> str:
    """Return what figures call the agent of all these runs; nothing if they have several."""
    found = {agent_label(record) for record in records}
    return found.pop() if len(found) == 1 else ""


def agent_line(records: Sequence[RunRecord], metric: str, *, dashed: bool = False) -> Line | None:
    """Return the line of one arm, in the colour of its agent; None if it lacks the metric."""
    agent = kind(records[0])
    return line(
        records,
        metric,
        label=agent_label(records[0]),
        colour=AGENT_COLOURS.get(agent, OTHER),
        dashed=dashed,
    )


def line(
    records: Sequence[RunRecord], metric: str, *, label: str, colour: str, dashed: bool = False
) -> Line | None:
    """Return the line of one arm; None if none of its runs has the metric.

    UserError if a seed is there twice: these would be different arms.
    """
    seeds = [record.seed for record in records]
    if len({*seeds}) < len(seeds):
        raise UserError(f"each seed of {label or records[0].arm} must be there once, got {seeds}")
    curves = {record.seed: record.curve(metric) for record in records}
    runs = {seed: curve for seed, curve in sorted(curves.items()) if len(curve[0])}
    name = "/".join(part for part in (records[0].arm, records[0].fork) if part)
    return Line(name, label, colour, runs, dashed) if runs else None


def by_arm(records: Iterable[RunRecord]) -> list[list[RunRecord]]:
    """Return the runs of each arm, agents in the order of legends."""
    arms: dict[tuple[str, str | None], list[RunRecord]] = {}
    for record in records:
        arms.setdefault((record.arm, record.fork), []).append(record)
    order = list(KINDS)
    return sorted(
        arms.values(),
        key=lambda runs: order.index(kind(runs[0])) if kind(runs[0]) in order else len(order),
    )


def agent_lines(records: Iterable[RunRecord], metric: str) -> list[Line]:
    """Return the lines of all arms that have the metric, each in the colour of its agent."""
    found = [one for one in (agent_line(runs, metric) for runs in by_arm(records)) if one]
    return labelled_apart(found)


def labelled_apart(lines: Sequence[Line]) -> list[Line]:
    """Return lines of which those with the same label also have the names of their arms."""
    labels = Counter(one.label for one in lines)
    return [
        replace(one, label=f"{one.label}, {one.name}") if labels[one.label] > 1 else one
        for one in lines
    ]


def select(
    records: Sequence[RunRecord],
    figure: str,
    task: str,
    *,
    such: Callable[[RunRecord], bool] = lambda _: True,
    what: str = "",
) -> list[RunRecord]:
    """Return the runs of a task, such as `what` describes; UserError, which says so, if none is."""
    there = [record for record in records if record.task == task]
    found = [record for record in there if such(record)]
    if not found:
        tasks = ", ".join(sorted({record.task for record in records})) or "none"
        got = "others" if there else f"runs on {tasks}"
        raise UserError(f"{figure} needs runs on {task}{what and ' '}{what}, got {got}")
    return found


def intervention_steps(records: Iterable[RunRecord]) -> list[int]:
    """Return when something happened to the environment."""
    texts = {text for record in records for text in record.interventions}
    return sorted({int(text.partition(":")[0]) for text in texts})


def legend_note(lines: Iterable[Line], *, band: bool = False) -> str:
    """Return what a reader must know of the lines: what is drawn, of how many seeds, its caveat."""
    counts = sorted({one.n for one in lines})
    if not counts:
        return "no run has come to a test yet"
    seeds = " or ".join(map(str, counts)) + (" seeds" if counts != [1] else " seed")
    if not band:
        return f"thin: single runs; bold: mean of {seeds}"
    caveat = interval_caveat(counts[0])
    too_narrow = f", too narrow with {seeds}" if caveat and counts[0] > 1 else ""
    return f"thin: single runs; bold: mean of {seeds}\nband: ± SEM{too_narrow}"
