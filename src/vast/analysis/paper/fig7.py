"""Fig. 7 and Fig. S3: Pong with and without a history of frames."""

from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from vast.analysis.paper.lines import (
    Curve,
    Line,
    agent_lines,
    agent_of,
    by_arm,
    legend_note,
    select,
)
from vast.analysis.paper.panels import (
    COLUMN,
    PAGE,
    TEXT,
    draw_lines,
    legend_below,
    new_figure,
    panel,
    show_image,
    steps_axis,
)
from vast.experiments.probes.images import image_from
from vast.experiments.results import RunRecord

COLOURS = {0: "#117733", 1: "#999933", 2: "#cc6677", 3: "#332288"}
"""by the number k of past frames"""
OTHER = "#777777"
PROBE = "networks"
"""what shows a frame and its reconstruction"""


def history(record: RunRecord) -> int:
    """Return the number k of past frames that the encoder sees beside the current one."""
    return int(record.config["settings"].get("model", {}).get("history", 0))


def has_motion(record: RunRecord) -> bool:
    """Tell whether an earlier frame is reconstructed, too; the paper's target has none."""
    return bool(record.config["settings"].get("model", {}).get("target", {}).get("past", 0))


def is_vast(record: RunRecord) -> bool:
    """Tell whether it is a run of VaST."""
    return record.agent == "vast"


def history_lines(runs: Sequence[RunRecord], curve: Callable[[RunRecord], Curve]) -> list[Line]:
    """Return a line for each number of past frames, and for each kind of target."""
    found = []
    for arm in by_arm(runs):
        k, moving = history(arm[0]), has_motion(arm[0])
        # Of a seed that went on in another grid, the longer run.
        curves = {run.seed: curve(run) for run in sorted(arm, key=lambda run: run.steps)}
        known = {seed: one for seed, one in curves.items() if len(one[0])}
        if known:
            label = f"k = {k}, target with motion" if moving else f"k = {k}"
            found.append(Line(arm[0].arm, label, COLOURS.get(k, OTHER), known, moving))
    return sorted(found, key=lambda one: one.label)


def by_training_steps(record: RunRecord, terms: Curve) -> Curve:
    """Return terms of the free energy over training steps instead of environment steps."""
    steps, values = terms
    at, trained = record.curve("train/steps")
    common, first, second = np.intersect1d(steps, at, return_indices=True)
    return (trained[second], values[first]) if len(common) else terms


def transition_and_entropy(record: RunRecord) -> Curve:
    """Return the terms of the free energy other than the reconstruction."""
    steps, transition = record.curve("train/transition")
    at, entropy = record.curve("train/entropy")
    common, first, second = np.intersect1d(steps, at, return_indices=True)
    return common, transition[first] - entropy[second]


def draw(records: Sequence[RunRecord]) -> Figure:
    """Return Fig. 7: the score of test games, and a frame beside its reconstruction."""
    runs = select(records, "fig7", "pong", such=is_vast, what="of VaST")
    others = [run for run in records if run.task == "pong" and not is_vast(run)]
    figure = new_figure(COLUMN, 8.0)
    ax = figure.subplots()
    lines = history_lines(runs, lambda run: run.curve("eval/score"))
    lines += agent_lines(others, "eval/score")
    panel(ax, "", "", "score of a test game")
    draw_lines(ax, lines)
    steps_axis(ax)
    draw_inset(ax, runs)
    legend_below(figure, lines, note_on(lines, runs), columns=3)
    return figure


def note_on(lines: Sequence[Line], runs: Sequence[RunRecord]) -> str:
    """Return the note of a legend, and which VaST has these histories."""
    return "\n".join(filter(None, [legend_note(lines), agent_of(runs)]))


def draw_inset(ax: Axes, runs: Sequence[RunRecord]) -> None:
    """Show an observed frame and its reconstruction, of the run with the longest history."""
    probed = [run for run in runs if PROBE in run.probes and not has_motion(run)]
    if not probed:
        return
    shown = max(probed, key=history).probes[PROBE]
    frames = {"observed": shown["observations"][1], "reconstructed": shown["reconstruction"]}
    for place, (title, text) in enumerate(frames.items()):
        inset = ax.inset_axes((0.5 + 0.26 * place, 0.06, 0.17, 0.24))
        show_image(inset, image_from(text), title, cmap="gray", vmin=0, vmax=255)
        inset.set_gid(title)


def draw_terms(records: Sequence[RunRecord]) -> Figure:
    """Return Fig. S3: the terms of the free energy, at equal training steps.

    A target with motion is another one, with another reconstruction, and not shown.
    """
    runs = select(
        records,
        "figS3",
        "pong",
        such=lambda run: is_vast(run) and not has_motion(run),
        what="of VaST with the paper's target",
    )
    figure = new_figure(PAGE, 7.0)
    a, b = figure.subplots(1, 2)
    lines = history_lines(
        runs, lambda run: by_training_steps(run, run.curve("train/reconstruction"))
    )
    panel(a, "A", "reconstruction", "nats per sample")
    draw_lines(a, lines)
    panel(b, "B", "transition - entropy")
    rest = history_lines(runs, lambda run: by_training_steps(run, transition_and_entropy(run)))
    draw_lines(b, rest)
    for ax in (a, b):
        steps_axis(ax, label=False)
        ax.set_xlabel("training steps", fontsize=TEXT, labelpad=2)
    legend_below(figure, lines, note_on(lines, runs), columns=4)
    return figure
