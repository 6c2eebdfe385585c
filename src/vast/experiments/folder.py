"""The folder of a run: its config, metrics, checkpoint, and what else is written there."""

import json
import platform
from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from vast.agents.registry import kind_named
from vast.errors import UserError
from vast.experiments.config import RunConfig
from vast.files import written_whole
from vast.training.plain import first_difference, from_plain, to_plain

FORMAT = "vast run"
VERSION = 1
CONFIG, METRICS, CHECKPOINT = "config.json", "metrics.jsonl", "checkpoint"
LOG, SAVES = "log.txt", "checkpoints.jsonl"
PACKAGES = ("vast-rl", "torch", "numpy", "numba", "gymnasium", "vizdoom", "ale-py")
"""whose versions are noted, because results may depend on them"""


def write_config(folder: Path, config: RunConfig) -> None:
    """Write the resolved config of a run, fit for reading and for passing back in."""
    content = {
        "format": FORMAT,
        "version": VERSION,
        "config": to_plain(config),
        "versions": {
            "python": platform.python_version(),
            **{package: version(package) for package in PACKAGES},
        },
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with written_whole(folder / CONFIG) as unfinished:
            unfinished.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot write {folder}: {error.strerror}") from error


def read_config(path: Path) -> RunConfig:
    """Return the config of a run, from its folder or from the file; UserError if it is none."""
    file = path / CONFIG if path.is_dir() or not path.exists() else path
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"{path} is no run: there is no {file}") from None
    except OSError as error:
        raise UserError(f"cannot read {file}: {error.strerror}") from error
    except ValueError:
        raise UserError(f"{path} is no run: {file.name} is no JSON") from None
    if not isinstance(content, Mapping) or content.get("format") != FORMAT:
        raise UserError(f"{path} is no run: {file.name} is of something else")
    if content.get("version") != VERSION:
        raise UserError(
            f"{path}: its format is version {content.get('version')!r}, allowed is {VERSION}"
        )
    return run_config(content.get("config"))


def run_config(plain: Any) -> RunConfig:
    """Return a run's config from its plain form."""
    if not isinstance(plain, Mapping):
        raise UserError(f"config {plain!r}: allowed is a dictionary of fields")
    settings = from_plain(
        kind_named(str(plain.get("agent"))).config, plain.get("settings", {}), "settings"
    )
    without: dict[str, Any] = {name: plain[name] for name in plain if name != "settings"}
    missing = {"task", "preset", "seed", "steps"} - set(without)
    if missing:
        raise UserError(f"config: {', '.join(sorted(missing))} is missing")
    return replace(from_plain(RunConfig, {**without, "settings": None}), settings=settings)


def require_same(there: RunConfig, here: RunConfig) -> None:
    """Raise UserError unless two configs are the same but for the number of steps."""
    difference = first_difference(
        to_plain(replace(there, steps=1)), to_plain(replace(here, steps=1))
    )
    if difference is not None:
        raise UserError(f"the folder holds another run: {difference}; choose another --out")
