"""Fig. 2: the networks of a trained agent, and what they make of one observation."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from vast.analysis.drawing import WALL
from vast.analysis.paper.lines import agent_label
from vast.analysis.paper.panels import PAGE, TEXT, TICKS, draw_letter, new_figure, show_image
from vast.analysis.paper.probed import first_with, numbers
from vast.errors import UserError
from vast.experiments.probes.images import image_from
from vast.experiments.results import RunRecord

PROBE = "networks"
ACTIONS = {3: ("forward", "left", "right")}
"""names of the actions of a Doom maze"""
PER_ROW = 8
"""bits in a row of a drawn code"""


def draw(records: Sequence[RunRecord]) -> Figure:
    """Return the figure of one run."""
    record = first_with(records, PROBE)
    if record is None:
        raise UserError("fig2 needs a run of VaST on images, trained for some steps")
    data = record.probes[PROBE]
    n_actions = int(data["n_actions"])
    figure = new_figure(PAGE, 8.6)
    places = figure.add_gridspec(2, 1, height_ratios=(1, 0.8))
    above = places[0].subgridspec(1, 5, width_ratios=(1, 1, 1, 1, 1))
    axes = [figure.add_subplot(above[column]) for column in range(5)]
    _image(axes[0], data["observations"][1], "A", "observation $o_t$")
    _bars(axes[1], numbers(data["logits"]), "B", "encoder: logits $x_t$")
    _code(axes[2], numbers(data["sample"]), "", "Concrete sample $\\hat{s}_t$")
    _code(axes[3], numbers(data["mode"]), "", f"mode $\\bar{{s}}_t$: {hexadecimal(data)}")
    _image(axes[4], data["reconstruction"], "C", "decoder: $E[o_t | \\hat{s}_t]$")
    below = places[1].subgridspec(1, 2 + n_actions)
    first = figure.add_subplot(below[0])
    _image(first, data["observations"][0], "D", "observation $o_{t-1}$")
    _code(figure.add_subplot(below[1]), numbers(data["previous_sample"]), "", "$\\hat{s}_{t-1}$")
    for action, expected in enumerate(data["expected_next"]):
        ax = figure.add_subplot(below[2 + action])
        taken = action == data["action"]
        name = action_name(action, n_actions)
        title = f"$E[\\hat{{s}}_t |$ {name}$]$" + (" (taken)" if taken else "")
        _code(ax, numbers(expected), "", title)
        if taken:
            ax.spines[:].set(linewidth=1.5, color="black")
    figure.supxlabel(
        f"{agent_label(record)} on {record.task}, seed {record.seed}, {record.steps:,} steps; "
        "codes: white 0, black 1, bits row by row",
        fontsize=TICKS,
        color="#555555",
    )
    return figure


def action_name(action: int, n_actions: int) -> str:
    """Return what the figure calls an action."""
    names = ACTIONS.get(n_actions)
    return names[action] if names else f"action {action}"


def hexadecimal(data: dict[str, Any]) -> str:
    """Return the state as the table knows it, lowest bit first in the code."""
    return f"{sum(int(bit) << place for place, bit in enumerate(data['mode'])):x}"


def code_grid(code: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a code in rows; nan after its end."""
    rows = -(-len(code) // PER_ROW)
    padded = np.full(rows * PER_ROW, np.nan)
    padded[: len(code)] = code
    return padded.reshape(rows, PER_ROW)


def _title(ax: Axes, letter: str, title: str) -> None:
    ax.set_title(title, fontsize=TEXT, pad=4)
    draw_letter(ax, letter, (-8, 6))


def _image(ax: Axes, text: str, letter: str, title: str) -> None:
    shown = image_from(text)
    grey: dict[str, Any] = {"cmap": "gray", "vmin": 0, "vmax": 255} if shown.shape[2] == 1 else {}
    show_image(ax, shown.squeeze(), **grey)
    _title(ax, letter, title)


def _code(ax: Axes, code: NDArray[np.float64], letter: str, title: str) -> None:
    show_image(ax, code_grid(code), cmap="Greys", vmin=0, vmax=1)
    ax.set_aspect("equal")
    _title(ax, letter, title)


def _bars(ax: Axes, logits: NDArray[np.float64], letter: str, title: str) -> None:
    ax.bar(np.arange(len(logits)), logits, width=0.8, color=WALL)
    ax.axhline(0, color=WALL, linewidth=0.5)
    ax.tick_params(labelsize=TICKS, width=0.5, length=2, pad=1)
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_xlabel("bit", fontsize=TEXT, labelpad=1)
    _title(ax, letter, title)
