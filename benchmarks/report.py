"""How the benchmarks report: tables on the screen, numbers in a file."""

import json
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table


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


def show(console: Console, title: str, rows: list[dict[str, float]]) -> None:
    """Print rows of numbers as a table."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    table = Table(title=title, title_justify="left")
    for name in columns:
        table.add_column(name.replace("_per_", "/").replace("_", " "), justify="right")
    for row in rows:
        table.add_row(*(format_number(row.get(name)) for name in columns))
    console.print(table)


def format_number(value: float | None) -> str:
    """Return a number short enough for a table."""
    if value is None:
        return "-"
    if value >= 1e5:
        return f"{value / 1e6:.2f} M"
    return f"{value:.0f}" if value == int(value) or value >= 1000 else f"{value:.2f}"


def write_json(report: dict[str, Any], path: Path) -> None:
    """Write a report, whole or not at all."""
    unfinished = path.with_name(f".{path.name}.unfinished")
    unfinished.write_text(json.dumps(report, indent=1) + "\n")
    unfinished.replace(path)
