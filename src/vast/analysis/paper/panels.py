"""What the panels of all figures have in common, at the widths of a page and of a column."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter, MaxNLocator

from vast.analysis.paper.lines import Line
from vast.files import atomic_write

CM = 1 / 2.54
COLUMN, PAGE = 8.5 * CM, 17 * CM
"""widths in inches"""
TEXT, TICKS, LETTER = 7.0, 6.5, 9.0
"""font sizes, in points"""
THIN, BOLD = 0.5, 1.5
DOTS_PER_INCH = 300
GRID = "#e4e2dc"
AXES = {"linewidth": 0.6, "color": "#3c3c3c"}


def new_figure(width: float, height_cm: float) -> Figure:
    """Return an empty figure; panels keep clear of each other by themselves."""
    return Figure(figsize=(width, height_cm * CM), layout="constrained")


def save_figure(figure: Figure, out: Path, name: str) -> list[Path]:
    """Write a figure as PNG and PDF, creating the directory if necessary; return both paths."""
    out.mkdir(parents=True, exist_ok=True)
    paths = [out / f"{name}.png", out / f"{name}.pdf"]
    for path in paths:
        # Type 42: text in the PDF stays text. Without a date, equal figures are equal files.
        about = {"CreationDate": None} if path.suffix == ".pdf" else {"Software": None}
        with atomic_write(path) as unfinished, rc_context({"pdf.fonttype": 42}):
            figure.savefig(unfinished, dpi=DOTS_PER_INCH, metadata=about)
    return paths


def panel(ax: Axes, letter: str, title: str = "", y: str = "", x: str = "") -> None:
    """Give axes the letter and title of a panel, and labels."""
    ax.set_title(title, fontsize=TEXT, loc="left", pad=4)
    draw_letter(ax, letter, (-14, 4))
    ax.set_xlabel(x, fontsize=TEXT, labelpad=2)
    ax.set_ylabel(y, fontsize=TEXT, labelpad=2)
    ax.tick_params(labelsize=TICKS, width=0.6, length=2.5, pad=2)
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set(**AXES)
    ax.grid(axis="y", color=GRID, linewidth=0.5)
    ax.set_axisbelow(True)


def draw_letter(ax: Axes, letter: str, offset: tuple[float, float], va: str = "baseline") -> None:
    """Write the letter of a panel at the corner of its axes, moved by some points."""
    ax.annotate(
        letter,
        (0, 1),
        xycoords="axes fraction",
        xytext=offset,
        textcoords="offset points",
        va=va,
        fontsize=LETTER,
        fontweight="bold",
        annotation_clip=False,
    )


def steps_axis(ax: Axes, label: bool = True) -> None:
    """Label the axis below: environment steps, as 25k or 2M."""
    ax.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
    ax.xaxis.set_major_formatter(EngFormatter(sep=""))
    ax.yaxis.set_major_locator(MaxNLocator(5))
    if label:
        ax.set_xlabel("environment steps", fontsize=TEXT, labelpad=2)


def draw_lines(ax: Axes, lines: Iterable[Line], *, band: bool = False) -> None:
    """Draw every single run thin, and the mean of each arm bold, with its SEM if asked for."""
    for one in lines:
        style: dict[str, Any] = {"color": one.colour, "linestyle": "--" if one.dashed else "-"}
        for seed, (steps, values) in one.runs.items():
            ax.plot(steps, values, linewidth=THIN, alpha=0.45, gid=f"{one.name}:{seed}", **style)
        steps, mean = one.mean()
        ax.plot(steps, mean, linewidth=BOLD, gid=one.name, zorder=3, **style)
        if band and one.n > 1:
            error = one.standard_error()
            ax.fill_between(
                steps, mean - error, mean + error, color=one.colour, alpha=0.18, linewidth=0
            )


def say_missing(ax: Axes, why: str = "not run yet") -> None:
    """Say in an empty panel why it is empty; it has no ticks, which would mean nothing."""
    ax.text(0.5, 0.5, why, transform=ax.transAxes, ha="center", fontsize=TEXT)
    ax.set(xticks=[], yticks=[])


def mark_interventions(ax: Axes, steps: Sequence[int]) -> None:
    """Mark with a triangle, as the paper does, when the environment changed."""
    for step in steps:
        ax.axvline(step, color="black", linewidth=0.5, linestyle=":", zorder=1)
        ax.plot(
            [step],
            [0.97],
            marker="v",
            color="black",
            markersize=5,
            transform=ax.get_xaxis_transform(),
            clip_on=False,
            gid="intervention",
        )


def legend_below(figure: Figure, lines: Sequence[Line], note: str, columns: int = 3) -> None:
    """Draw one legend for all panels, with the note above its entries."""
    found = {one.label: one for one in lines}
    handles = [
        Line2D(
            [],
            [],
            color=one.colour,
            linewidth=BOLD,
            linestyle="--" if one.dashed else "-",
            label=label,
        )
        for label, one in found.items()
    ]
    legend = figure.legend(
        handles=handles,
        loc="outside lower center",
        ncols=min(columns, max(len(handles), 1)),
        fontsize=TEXT,
        frameon=False,
        title=note,
        title_fontsize=TICKS,
        handlelength=1.8,
        columnspacing=1.4,
        borderpad=0.1,
    )
    legend.get_title().set(color="#555555", multialignment="center")


def show_image(ax: Axes, image: np.ndarray, title: str = "", **options: Any) -> None:
    """Show an image without axes."""
    ax.imshow(image, interpolation="nearest", **options)
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set(linewidth=0.5, color="#3c3c3c")
    if title:
        ax.set_title(title, fontsize=TEXT, pad=3)
