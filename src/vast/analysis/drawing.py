"""What all pictures share: how they are written."""

import os
from pathlib import Path

from matplotlib.figure import Figure


def save(figure: Figure, path: Path) -> Path:
    """Write a figure, whole or not at all, making the folder if need be; return the path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.stem}.{os.getpid()}{path.suffix}")
    try:
        figure.savefig(partial, dpi=160)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    return path
