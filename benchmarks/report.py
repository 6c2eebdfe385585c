"""How the benchmarks report: tables on the screen, numbers in a file."""

import json
import platform
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from vast.files import written_whole


def machine(*packages: str) -> dict[str, str]:
    """Return what the numbers were measured on and with."""
    versions = {package: version(package) for package in packages}
    return {"processor": processor(), "python": platform.python_version(), **versions}


def processor() -> str:
    """Return the name of the processor."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def show(console: Console, title: str, rows: list[dict[str, Any]]) -> None:
    """Print rows of names and numbers as a table."""
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
    """Return a name or number short enough for a table."""
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    if value >= 1e5:
        return f"{value / 1e6:.2f} M"
    return f"{value:.0f}" if value == int(value) or value >= 1000 else f"{value:.2f}"


def report_console() -> Console:
    """Return a console wide enough for a report, whatever it is written to."""
    return Console(width=None if sys.stdout.isatty() else 150)


def write_json(report: dict[str, Any], path: Path) -> None:
    """Write a report, whole or not at all."""
    with written_whole(path) as unfinished:
        unfinished.write_text(json.dumps(report, indent=1) + "\n")
