"""Observations beside the reconstructions from their states."""

import numpy as np
from matplotlib.figure import Figure

from vast.analysis.drawing import SMALL
from vast.experiments.one_run import Views
from vast.model.tabulator import Tabulator

EXAMPLES = 8


def draw_frames(views: Views, tabulator: Tabulator) -> Figure:
    """Return a picture of some observations, as they are stored, and their reconstructions."""
    chosen = spread(views, EXAMPLES)
    seen = views.frames[chosen] / 255
    rows = {
        "observed": seen,
        "reconstructed\nfrom the state": tabulator.decode(views.states[chosen]),
    }
    height, width = seen.shape[1:3]
    figure = Figure(figsize=(12.6, 2 * 1.48 * height / width + 0.35), layout="constrained")
    axes = figure.subplots(2, len(chosen), squeeze=False)
    for line, (label, frames) in zip(axes, rows.items(), strict=True):
        for ax, frame in zip(line, frames, strict=True):
            grey = frame.shape[2] == 1
            shown = np.clip(frame[..., 0] if grey else frame, 0, 1)
            ax.imshow(shown, cmap="gray" if grey else None, vmin=0, vmax=1, interpolation="nearest")
            ax.set(xticks=[], yticks=[])
            ax.spines[:].set_visible(False)
        line[0].set_ylabel(label, fontsize=SMALL)
    return figure


def spread(views: Views, count: int) -> list[int]:
    """Return observations that look different from each other, beginning with the first.

    Each next one is the one farthest from its nearest among those chosen.
    """
    looks = views.frames.reshape(len(views.frames), -1).astype(np.float32)
    chosen = [0]
    distance = np.full(len(looks), np.inf, np.float32)
    while len(chosen) < min(count, len(looks)):
        distance = np.minimum(distance, np.abs(looks - looks[chosen[-1]]).mean(1))
        chosen.append(int(distance.argmax()))
    return chosen
