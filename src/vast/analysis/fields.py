"""The receptive field of each bit: where in the world it is set."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from vast.analysis.drawing import PANEL, SHARES, SMALL, TITLE, WALL
from vast.analysis.snapshots import Snapshot
from vast.analysis.states import Floats, ReceptiveFields
from vast.analysis.value_map import colour_bar, extent
from vast.envs.doom.world import FloorPlan

COLUMNS = 4
"""of small maps in a panel"""


def draw_receptive_fields(
    fields: ReceptiveFields,
    bits: Sequence[int] | None = None,
    plan: FloorPlan | None = None,
    title: str = "",
) -> Figure:
    """Return a small map per bit: of the frames seen at each place, the share that has the bit.

    Where headings are known a cell is cut into one wedge per range of headings, which lies where
    the agent looks: in the right one it looks to the right.
    """
    bits = range(len(fields.share)) if bits is None else bits
    width, height = extent(plan) if plan else (float(np.ptp(e)) for e in (fields.x, fields.y))
    rows = max(-(-len(bits) // COLUMNS), 1)
    each = PANEL / COLUMNS * min(max(height / width, 0.4), 1.4) + 0.2
    figure = Figure(figsize=(PANEL, rows * each + 0.85), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.02, h_pad=0.03)  # type: ignore[union-attr, call-arg]
    axes = figure.subplots(rows, COLUMNS, squeeze=False).ravel()
    colours = ScalarMappable(Normalize(0, 1), SHARES)
    shapes = wedges(fields)
    there = (fields.seen > 0).ravel()
    for ax, bit in zip(axes, bits, strict=False):
        share = fields.share[bit].ravel()[there]
        cells = PolyCollection(list(shapes[there]), facecolors=colours.to_rgba(share), zorder=1)
        cells.set_linewidth(0)
        cells.set_antialiased(False)
        cells.set_rasterized(True)
        ax.add_collection(cells)
        _outline(ax, plan)
        ax.set_title(f"bit {bit}{_constant(share)}", fontsize=SMALL - 0.5, loc="left", pad=2)
    for ax in axes:
        ax.set_aspect("equal")
        ax.margins(0.02)
        ax.autoscale_view()
        ax.set_axis_off()
    figure.suptitle(title, fontsize=TITLE, x=0.01, ha="left")
    colour_bar(figure, colours, list(axes), "share of the frames with the bit set", below=True)
    return figure


def _constant(share: Floats) -> str:
    if (share == 0).all():
        return ": never"
    return ": always" if (share == 1).all() else ""


def _outline(ax: Axes, plan: FloorPlan | None) -> None:
    if plan is not None:
        walls = [[wall[:2], wall[2:]] for wall in plan.walls]
        ax.add_collection(LineCollection(walls, colors=WALL, linewidths=0.7, zorder=2))


def wedges(fields: ReceptiveFields) -> Floats:
    """Return [cells, 4, 2] corners in the order of `fields.seen`: squares, or wedges of them."""
    headings, rows, columns = fields.seen.shape
    half_x, half_y = (np.diff(edges)[0] / 2 for edges in (fields.x, fields.y))
    x, y = fields.x[:-1] + half_x, fields.y[:-1] + half_y
    centres = np.stack(np.broadcast_arrays(x[None, :], y[:, None]), axis=-1)
    if headings == 1:
        corners = np.array([[[-1, -1], [1, -1], [1, 1], [-1, 1]]])
    else:
        # From the centre to the rim of a square, along both edges of the range and its middle.
        middle = 2 * np.pi * np.arange(headings) / headings
        turns = middle[:, None] + np.pi / headings * np.array([-1, 0, 1])
        rim = np.stack([np.cos(turns), np.sin(turns)], axis=-1)
        rim /= np.abs(rim).max(axis=-1, keepdims=True)
        corners = np.concatenate([np.zeros((headings, 1, 2)), rim], axis=1)
    scaled = corners * np.array([half_x, half_y])
    shapes: Floats = centres[None, :, :, None, :] + scaled[:, None, None]
    return shapes.reshape(headings * rows * columns, 4, 2)


def bits_in_panels(view: Snapshot, size: int = 16) -> list[list[int]]:
    """Return the bits of a view's codes in groups that fit into a panel."""
    n_bits = 0 if view.states is None else view.states.n_bits
    return [list(range(i, min(i + size, n_bits))) for i in range(0, n_bits, size)]
