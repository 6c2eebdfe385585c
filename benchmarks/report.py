"""How the benchmarks report: tables on the screen, results in a file."""

import json
import math
import platform
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from vast.experiments.run_directory import processor
from vast.files import atomic_write


def machine(*packages: str) -> dict[str, str]:
    """Return the processor and the versions that measurements depend on."""
    versions = {package: version(package) for package in packages}
    return {"processor": processor(), "python": platform.python_version(), **versions}


def show(console: Console, title: str, rows: list[dict[str, Any]]) -> None:
    """Print rows as a table."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    table = Table(title=title, title_justify="left")
    for name in columns:
        table.add_column(
            name.replace("_per_second", "/s").replace("_per_", "/").replace("_", " "),
            justify="right",
        )
    for row in rows:
        table.add_row(*(shortened(row.get(name)) for name in columns))
    console.print(table)


def shortened(value: str | float | None) -> str:
    """Return a value as a short text for a table."""
    if isinstance(value, str):
        return value
    if value is None or math.isnan(value):
        return "-"
    if value >= 1e5:
        return f"{value / 1e6:.2f} M"
    return f"{value:.0f}" if value == int(value) or value >= 1000 else f"{value:.2f}"


def report_console() -> Console:
    """Return a console that is wide enough for a report, also when it is piped to a file."""
    return Console(width=None if sys.stdout.isatty() else 150)


def write_json(report: dict[str, Any], path: Path) -> None:
    """Write a report, completely or not at all."""
    with atomic_write(path) as unfinished:
        unfinished.write_text(json.dumps(report, indent=1) + "\n")
