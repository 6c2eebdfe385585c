"""The kinds of arguments that verbs take, named as their help shows them."""

from pathlib import Path
from typing import Annotated, Any

import tyro


def shown(metavar: str) -> Any:
    """Return how the help shows an option that has no value unless it is given."""
    return tyro.conf.arg(metavar=metavar, help_behavior_hint="")


RunDirectory = Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="DIR")]
RunDirectories = Annotated[tuple[Path, ...], tyro.conf.Positional, shown("DIR ...")]
AgentFile = Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="FILE.vast")]
Device = Annotated[str | None, shown("DEVICE")]
Directory = Annotated[Path | None, shown("DIR")]
File = Annotated[Path | None, shown("FILE")]
Name = Annotated[str | None, shown("NAME")]
Names = Annotated[tuple[str, ...], shown("NAME ...")]
Number = Annotated[int | None, shown("N")]
Value = Annotated[float | None, shown("X")]
Numbers = Annotated[tuple[int, ...], shown("N ...")]
Directories = Annotated[tuple[Path, ...], shown("DIR ...")]
