"""Fig. 7 and Fig. S3: Pong with and without a history of frames."""

from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.figure import Figure

from vast.analysis.paper.lines import Curve, Line, by_arm, legend_note, select
from vast.analysis.paper.panels import (
    COLUMN,
    PAGE,
    draw_lines,
    legend_below,
    new_figure,
    panel,
    steps_axis,
)
from vast.experiments.results import RunRecord

COLOURS = {0: "#117733", 1: "#999933", 2: "#cc6677", 3: "#332288"}
"""by the number k of past frames"""
OTHER = "#777777"


def history(record: RunRecord) -> int:
    """Return the number k of past frames that the encoder sees beside the current one."""
    return int(record.config["settings"].get("model", {}).get("history", 0))


def history_lines(runs: Sequence[RunRecord], curve: Callable[[RunRecord], Curve]) -> list[Line]:
    """Return a line for each number of past frames."""
    found = []
    for arm in by_arm(runs):
        k = history(arm[0])
        curves = {run.seed: curve(run) for run in arm}
        known = {seed: one for seed, one in curves.items() if len(one[0])}
        if known:
            found.append(Line(arm[0].arm, f"k = {k}", COLOURS.get(k, OTHER), known))
    return sorted(found, key=lambda one: one.label)


def transition_and_entropy(record: RunRecord) -> Curve:
    """Return the terms of the free energy other than the reconstruction."""
    steps, transition = record.curve("train/transition")
    at, entropy = record.curve("train/entropy")
    common, first, second = np.intersect1d(steps, at, return_indices=True)
    return common, transition[first] - entropy[second]


def draw(records: Sequence[RunRecord]) -> Figure:
    """Return Fig. 7: the return of test episodes."""
    runs = select(records, "fig7", "pong", such=lambda run: run.agent == "vast")
    figure = new_figure(COLUMN, 7.0)
    ax = figure.subplots()
    lines = history_lines(runs, lambda run: run.curve("eval/mean_return"))
    panel(ax, "", "", "return of a test episode")
    draw_lines(ax, lines)
    steps_axis(ax)
    legend_below(figure, lines, legend_note(lines), columns=4)
    return figure


def draw_terms(records: Sequence[RunRecord]) -> Figure:
    """Return Fig. S3: the terms of the free energy."""
    runs = select(records, "figS3", "pong", such=lambda run: run.agent == "vast")
    figure = new_figure(PAGE, 7.0)
    a, b = figure.subplots(1, 2)
    lines = history_lines(runs, lambda run: run.curve("train/reconstruction"))
    panel(a, "A", "reconstruction", "nats per sample")
    draw_lines(a, lines)
    panel(b, "B", "transition - entropy")
    draw_lines(b, history_lines(runs, transition_and_entropy))
    for ax in (a, b):
        steps_axis(ax)
    legend_below(figure, lines, legend_note(lines), columns=4)
    return figure
