"""The style of all pictures, and how they are written."""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from vast.files import atomic_write

WALL, FLOOR, GOAL, UNKNOWN = "#3c3c3c", "#f3f2ee", "#a9d8a0", "#b4b2ab"
INKS = ("#2f6db5", "#c8373a", "#3a8f5c", "#b03a9e", "#b5792f", "#4f4f9f")
"""colours of lines"""
AGENT_COLOURS = {
    "vast": "#0072b2",
    "plain-vast": "#56b4e9",
    "lsh": "#009e73",
    "mfec": "#e69f00",
    "nec": "#d55e00",
    "ddqn": "#cc79a7",
}
"""one colour per agent in all pictures, told apart by colour-blind readers (Okabe & Ito 2008);
plain VaST is VaST without extensions"""
DOTS_PER_INCH = 160
TITLE, SMALL = 10, 8.5
"""font sizes"""


def save(figure: Figure, path: Path) -> Path:
    """Write a figure, creating its directory if necessary; return the path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as unfinished:
        figure.savefig(unfinished, dpi=DOTS_PER_INCH)
    return path


def plain_axes(ax: Axes, title: str = "", x: str = "", y: str = "") -> None:
    """Give axes a title and labels, without unnecessary lines."""
    ax.set_title(title, fontsize=TITLE, loc="left")
    ax.set_xlabel(x, fontsize=SMALL)
    ax.set_ylabel(y, fontsize=SMALL)
    ax.tick_params(labelsize=SMALL)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", color="#e4e2dc", linewidth=0.7)
    ax.set_axisbelow(True)


def arrowheads(poses: NDArray[np.float64], size: float) -> NDArray[np.float64]:
    """Return [n, 3, 2] triangles that point from each (x, y, degrees) along its heading."""
    heading = np.radians(poses[:, 2])
    ahead = np.stack([np.cos(heading), np.sin(heading)], 1)
    aside = np.stack([-ahead[:, 1], ahead[:, 0]], 1)
    at = poses[:, :2]
    return np.stack([at + size * ahead, at + size / 3 * aside, at - size / 3 * aside], axis=1)
