"""The figures of the paper by name."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from vast.errors import unknown

FIGURES = {"fig1": "vast.analysis.fig1"}
"""name -> the module whose `draw` draws it"""


def draw_figure(name: str, out: Path) -> Path:
    """Draw the figure called `name` into the folder `out`; return the file written."""
    if name not in FIGURES:
        raise unknown("figure", name, FIGURES)
    draw: Callable[[Path], Path] = import_module(FIGURES[name]).draw
    return draw(out)
