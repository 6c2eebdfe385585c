"""The directory of a run: its config, metrics, checkpoint, and what else is written there."""

import json
import platform
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from vast.agents.registry import agent_named
from vast.errors import UserError
from vast.experiments.config import RunConfig
from vast.experiments.old_configs import upgraded
from vast.files import atomic_write
from vast.training.device import CPU
from vast.training.plain import first_difference, from_plain, to_plain

FORMAT = "vast run"
VERSION = 2
READABLE = (1, 2)
"""versions whose configs are understood; checkpoints have a version of their own"""
CONFIG, METRICS = "config.json", "metrics.jsonl"
LOG, SAVES = "log.txt", "checkpoints.jsonl"
PROBES = "probes.json"
"""what was measured on the trained agent"""
PACKAGES = ("vast-rl", "torch", "numpy", "numba", "faiss-cpu", "gymnasium", "vizdoom", "ale-py")
"""whose versions are recorded, because results may depend on them"""


def write_config(directory: Path, config: RunConfig) -> None:
    """Write the resolved config of a run, which can be read and passed back in."""
    content = {
        "format": FORMAT,
        "version": VERSION,
        "config": to_plain(_relative(config)),
        "processor": processor(),
        "versions": versions(),
    }
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with atomic_write(directory / CONFIG) as unfinished:
            unfinished.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot write {directory}: {error.strerror}") from error


def _relative(config: RunConfig) -> RunConfig:
    """Return the config as it is written: a map file in the directory goes by its name there."""
    if config.wad is None or config.wad_sha256 is None:
        return config
    return replace(config, wad=Path(config.wad).name)


def versions() -> dict[str, str]:
    """Return the versions that results depend on."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        with suppress(PackageNotFoundError):  # an extra that is not installed
            found[package] = version(package)
    return found


def processor() -> str:
    """Return the name of the processor, on which the last digits of results depend."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def read_probes(directory: Path) -> dict[str, Any]:
    """Return what was measured on the trained agent of a run, by the name of the probe."""
    path = directory / PROBES
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read {path}: {error}") from error
    except RecursionError:
        raise UserError(f"cannot read {path}: it is nested too deeply") from None
    return found


def write_probes(directory: Path, probes: Mapping[str, Any]) -> None:
    """Write what was measured on the trained agent of a run."""
    path = directory / PROBES
    try:
        with atomic_write(path) as unfinished:
            text = json.dumps(probes, indent=1, allow_nan=False) + "\n"
            unfinished.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from error


def drop_probes(directory: Path) -> None:
    """Forget what was measured on the trained agent of a run, which is trained further."""
    try:
        (directory / PROBES).unlink(missing_ok=True)
    except OSError as error:
        raise UserError(f"cannot remove {directory / PROBES}: {error.strerror}") from error


def read_config(path: Path) -> RunConfig:
    """Return the config of a run, from its directory or the file; UserError if it is not one."""
    try:
        file = path / CONFIG if path.is_dir() or not path.exists() else path
        content = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"{path} is not a run directory: there is no {file}") from None
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    except RecursionError:
        raise UserError(f"{path} is not a run directory: {CONFIG} is nested too deeply") from None
    except ValueError:
        raise UserError(f"{path} is not a run directory: {file.name} is not JSON") from None
    if not isinstance(content, Mapping) or content.get("format") != FORMAT:
        raise UserError(f"{path} is not a run directory: {file.name} belongs to something else")
    if content.get("version") not in READABLE:
        raise UserError(
            f"{path}: its format must be version {' or '.join(map(str, READABLE))}, "
            f"got {content.get('version')!r}"
        )
    try:
        config = run_config(content.get("config"))
    except RecursionError:  # raised by what names the value
        raise UserError(f"{path}: its config is nested too deeply") from None
    if config.wad is None or config.wad_sha256 is None:
        return config
    return replace(config, wad=str((file.parent / config.wad).absolute()))


def run_config(plain: Any) -> RunConfig:
    """Return a run's config from its plain form, also from that of earlier versions."""
    if not isinstance(plain, Mapping):
        raise UserError(f"config must be a dictionary of fields, got {plain!r}")
    settings = plain.get("settings", {})
    settings = from_plain(
        agent_named(str(plain.get("agent"))).config_class,
        upgraded(settings) if isinstance(settings, Mapping) else settings,
        "settings",
    )
    without: dict[str, Any] = {name: plain[name] for name in plain if name != "settings"}
    missing = {"task", "preset", "seed", "steps"} - set(without)
    if missing:
        raise UserError(f"config: {', '.join(sorted(missing))} is missing")
    return replace(from_plain(RunConfig, {**without, "settings": None}), settings=settings)


def require_same(there: RunConfig, here: RunConfig) -> None:
    """Raise UserError unless two configs differ in the number of steps and the device at most."""
    if there.wad_sha256 is None:
        here = replace(here, wad_sha256=None)
    elif here.wad_sha256 == there.wad_sha256:
        here = replace(here, wad=there.wad)
    difference = first_difference(
        *(to_plain(replace(each, steps=1, device=CPU), full=True) for each in (there, here))
    )
    if difference is not None:
        raise UserError(f"the directory holds another run: {difference}; choose another --out")
