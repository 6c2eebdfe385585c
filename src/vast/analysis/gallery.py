"""A gallery of states: frames that each holds, and what the decoder makes of the state."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from vast.analysis.drawing import AGENT_COLOURS, INK, LINES, MUTED, PANEL, SMALL, TITLE
from vast.analysis.snapshots import Snapshot
from vast.analysis.states import States
from vast.errors import UserError

FRAMES = 4
"""shown of each state"""
CANDIDATES = 200
"""states, best by some measure, of which those that differ most are shown"""
LABEL = 0.8
"""inches, for the numbers of a state beside its pictures"""


def different(states: States, measure: NDArray[Any], count: int = 6) -> list[int]:
    """Return states that rank high by a measure and whose codes differ, the highest first.

    Each next one is the one farthest, in bits, from its nearest among those chosen. States that
    hold a single frame come into question only if there are too few others.
    """
    held = np.flatnonzero(states.frame_counts > 1)
    if len(held) < count:
        held = np.flatnonzero(states.frame_counts)
    best = held[np.argsort(-measure[held], kind="stable")][:CANDIDATES]
    if not len(best):
        return []
    bits, chosen = states.bits[best], [0]
    distance = np.full(len(best), states.n_bits + 1)
    while len(chosen) < min(count, len(best)):
        distance = np.minimum(distance, (bits != bits[chosen[-1]]).sum(axis=1))
        distance[chosen] = -1
        chosen.append(int(distance.argmax()))
    return [int(row) for row in best[sorted(chosen)]]


def draw_gallery(view: Snapshot, rows: Sequence[int], title: str = "") -> Figure:
    """Return a picture of some states of a table, by their rows in `view.states`.

    One line per state: its value and visits, the decoder's picture of it, and frames that it holds,
    from its oldest to its newest.
    """
    states, replay = view.states, view.replay
    if states is None or replay is None:
        raise UserError(f"the agent {view.config.agent!r} keeps no frames of its states")
    decoded = view.decoder.decode(states.keys[list(rows)]) if view.decoder and len(rows) else None
    held = [replay.frames(spread(states.frames(row))) for row in rows]
    if len(view.shape) == 3:
        figure, axes = _image_lines(view, held, decoded)
    else:
        limits = _range(replay.frames(states.frame_numbers))
        figure, axes = _vector_lines(limits, held, decoded)
    for ax, row in zip(axes, rows, strict=True):
        visits, value = int(states.visits[row]), round(float(states.value[row]), 2) + 0.0
        ax.annotate(
            f"V {value:.2f}\n{visits:,} visit{'s' * (visits != 1)}",
            (0, 0.5),
            xycoords="axes fraction",
            xytext=(-6, 0),
            textcoords="offset points",
            ha="right",
            va="center",
            fontsize=SMALL - 0.5,
            linespacing=1.4,
        )
    figure.suptitle(title, fontsize=TITLE, x=0.01, ha="left")
    return figure


def spread(numbers: NDArray[np.int64], count: int = FRAMES) -> NDArray[np.int64]:
    """Return some of these numbers, evenly spread from the first to the last."""
    at = np.linspace(0, len(numbers) - 1, min(count, len(numbers))).round().astype(np.int64)
    return numbers[at]


def _image_lines(
    view: Snapshot, held: list[NDArray[Any]], decoded: NDArray[Any] | None
) -> tuple[Figure, list[Axes]]:
    """Return a grid of images, and the first axes of each line."""
    columns = FRAMES + (decoded is not None)
    each = (PANEL - LABEL - 0.1) / columns
    tall = each * view.shape[0] / view.shape[1]
    height = len(held) * (tall + 0.07) + 0.55
    figure = Figure(figsize=(PANEL, height))
    grid = figure.add_gridspec(
        len(held),
        columns,
        left=LABEL / PANEL,
        right=1 - 0.1 / PANEL,
        bottom=0.05 / height,
        top=1 - 0.5 / height,
        wspace=0.06,
        hspace=0.06,
    )
    firsts = []
    for line, frames in enumerate(held):
        pictures = [frame / 255 for frame in frames]
        if decoded is not None:
            pictures.insert(0, decoded[line])
        axes = [figure.add_subplot(grid[line, column]) for column in range(columns)]
        for ax in axes:
            ax.set_axis_off()
        for ax, picture in zip(axes, pictures, strict=False):
            _show(ax, picture)
        firsts.append(axes[0])
        if line == 0:
            _heading(axes[0 if decoded is None else 1], "frames that it holds")
            if decoded is not None:
                _heading(axes[0], "decoded")
    return figure, firsts


def _show(ax: Axes, picture: NDArray[Any]) -> None:
    grey = picture.shape[2] == 1
    shown = np.clip(picture[..., 0] if grey else picture, 0, 1)
    ax.imshow(shown, cmap="gray" if grey else None, vmin=0, vmax=1, interpolation="nearest")


def _heading(ax: Axes, text: str) -> None:
    ax.set_title(text, fontsize=SMALL - 0.5, loc="left", color=MUTED, pad=3)


def _vector_lines(
    limits: tuple[NDArray[Any], NDArray[Any]],
    held: list[NDArray[Any]],
    decoded: NDArray[Any] | None,
) -> tuple[Figure, list[Axes]]:
    """Return one small plot per state: each dimension of the vectors, scaled to its range."""
    height = 0.5 * len(held) + 0.95
    figure = Figure(figsize=(PANEL, height))
    axes = figure.subplots(
        len(held),
        1,
        squeeze=False,
        gridspec_kw={
            "left": LABEL / PANEL,
            "right": 1 - 0.1 / PANEL,
            "bottom": 0.4 / height,
            "top": 1 - 0.55 / height,
            "hspace": 0.25,
        },
    ).ravel()
    low, high = limits
    size = np.maximum(high - low, 1e-9)
    dimensions = np.arange(len(low))
    for line, (ax, frames) in enumerate(zip(axes, held, strict=True)):
        for number, frame in enumerate(frames):
            label = "frames that it holds" if number == 0 else None
            at = dimensions + 0.12 * (number - (len(frames) - 1) / 2)
            ink = AGENT_COLOURS["vast"]
            ax.plot(at, (frame - low) / size, "o", color=ink, markersize=3, label=label)
        if decoded is not None:
            ax.plot(
                dimensions,
                (decoded[line] - low) / size,
                "_",
                color=INK,
                markersize=16,
                markeredgewidth=1.2,
                label="decoded",
            )
        ax.set(ylim=(-0.15, 1.15), xlim=(-0.6, len(dimensions) - 0.4), yticks=[], xticks=[])
        ax.spines[:].set_color(LINES)
    axes[-1].set_xticks(dimensions, [f"x{number}" for number in dimensions])
    axes[-1].tick_params(labelsize=SMALL, length=0)
    axes[0].legend(
        loc="lower left",
        bbox_to_anchor=(-0.02, 1.0),
        ncols=2,
        fontsize=SMALL - 0.5,
        frameon=False,
        handlelength=1.2,
    )
    return figure, list(axes)


def _range(frames: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return between which values each dimension of the observations mostly is."""
    low, high = np.percentile(frames, [1, 99], axis=0)
    return low, high
