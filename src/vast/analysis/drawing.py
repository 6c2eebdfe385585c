"""What all pictures share: how they are written."""

from pathlib import Path

from matplotlib.figure import Figure

from vast.files import written_whole


def save(figure: Figure, path: Path) -> Path:
    """Write a figure, making its folder if need be; return the path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with written_whole(path) as unfinished:
        figure.savefig(unfinished, dpi=160)
    return path
