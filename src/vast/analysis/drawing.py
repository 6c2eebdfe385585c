"""The style of all pictures, and how they are written.

A panel is as wide as a phone and its text is readable there; a page puts panels side by side if it
has room. Pictures are drawn in the colours of a light page. As SVG, their neutral colours follow
the reader's light or dark theme.
"""

import io
import re
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator
from numpy.typing import NDArray

from vast.files import atomic_write

INK, MUTED, LINES, PAPER = "#1f2023", "#6d6c68", "#e4e2dc", "#ffffff"
WALL, FLOOR, UNKNOWN = "#3c3c3c", "#f3f2ee", "#b4b2ab"
GOAL, PENALTY, HAZARD = "#a9d8a0", "#eba6a3", "#f3cf9b"
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
DARK = {
    "#000000": "#e9e8e4",
    INK: "#e9e8e4",
    MUTED: "#a09f99",
    LINES: "#34363b",
    PAPER: "#17181b",
    WALL: "#b9b8b2",
    FLOOR: "#25272b",
    UNKNOWN: "#6d6c68",
    GOAL: "#3f6b3a",
    PENALTY: "#7c403e",
    HAZARD: "#7a5c2b",
    AGENT_COLOURS["vast"]: "#479fd8",
    AGENT_COLOURS["plain-vast"]: "#9bd6f7",
    AGENT_COLOURS["lsh"]: "#2bbd92",
    AGENT_COLOURS["nec"]: "#f07c2e",
    INKS[0]: "#5d9be0",
    INKS[1]: "#ea6c6e",
}
"""what colours become on a dark page, where they would be too bright or too dim"""
DOTS_PER_INCH = 160
TITLE, SMALL = 10, 8.5
"""font sizes"""
PANEL = 3.9
"""the width of a panel in inches: 374 pixels of a page"""


def save(figure: Figure, path: Path) -> Path:
    """Write a figure, creating its directory if necessary; return the path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as unfinished:
        figure.savefig(unfinished, dpi=DOTS_PER_INCH)
    return path


def panel(height: float = 2.6) -> tuple[Figure, Axes]:
    """Return a figure of the width of a panel, and its axes."""
    figure = Figure(figsize=(PANEL, height), layout="constrained")
    return figure, figure.subplots()


def plain_axes(ax: Axes, title: str = "", x: str = "", y: str = "") -> None:
    """Give axes a title and labels, without unnecessary lines."""
    ax.set_title(title, fontsize=TITLE, loc="left")
    ax.set_xlabel(x, fontsize=SMALL)
    ax.set_ylabel(y, fontsize=SMALL)
    ax.tick_params(labelsize=SMALL)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", color=LINES, linewidth=0.7)
    ax.set_axisbelow(True)


def steps_below(ax: Axes) -> None:
    """Label the axis of environment steps in thousands and millions."""
    ax.xaxis.set_major_locator(MaxNLocator(5))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda step, _: short(step)))


def short(number: float) -> str:
    """Return a number in few characters."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(number) >= size:
            return f"{np.round(number / size, 2):g}{letter}"
    return f"{number:g}"


def trimmed(name: str, low: float) -> ListedColormap:
    """Return a colour map without its darkest share, so that it can be seen on any page."""
    return ListedColormap(mpl.colormaps[name](np.linspace(low, 1, 256)))


VALUES, SHARES = trimmed("viridis", 0.1), trimmed("cividis", 0.15)
"""colours of values, and of shares from 0 to 1"""


def arrowheads(poses: NDArray[np.float64], size: float) -> NDArray[np.float64]:
    """Return [n, 3, 2] triangles that point from each (x, y, degrees) along its heading."""
    heading = np.radians(poses[:, 2])
    ahead = np.stack([np.cos(heading), np.sin(heading)], 1)
    aside = np.stack([-ahead[:, 1], ahead[:, 0]], 1)
    at = poses[:, :2]
    return np.stack([at + size * ahead, at + size / 3 * aside, at - size / 3 * aside], axis=1)


def themed_svg(figure: Figure) -> str:
    """Return a figure as SVG whose neutral colours follow the reader's theme; text stays text."""
    buffer = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "vast"}):
        figure.savefig(
            buffer, format="svg", dpi=DOTS_PER_INCH, transparent=True, metadata={"Date": None}
        )
    drawn = buffer.getvalue()
    drawn = re.sub(r"<metadata>.*?</metadata>", "", drawn[drawn.index("<svg") :], flags=re.DOTALL)
    drawn = re.sub(r" font-family: [^;\"]*;?", "", drawn)
    drawn = re.sub(r"(fill|stroke): (#[0-9a-f]{6})", _themed, drawn)
    head = drawn.index(">") + 1
    return f"{drawn[:head]}<style>{_THEME}</style>{drawn[head:]}"


FONT = "system-ui, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"
_NAMES = {colour: f"--c{colour[1:]}" for colour in DARK}
_LIGHT_RULES = "".join(f"{name}:{colour};" for colour, name in _NAMES.items())
_DARK_RULES = "".join(f"{name}:{DARK[colour]};" for colour, name in _NAMES.items())
_THEME = (
    f":root{{{_LIGHT_RULES}}}text{{fill:var({_NAMES[INK]});font-family:{FONT}}}"
    f"@media(prefers-color-scheme:dark){{:root{{{_DARK_RULES}}}}}"
)


def _themed(match: re.Match[str]) -> str:
    kind, colour = match.groups()
    return f"{kind}: var({_NAMES[colour]})" if colour in _NAMES else match[0]
