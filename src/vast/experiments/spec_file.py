"""An experiment of the user's own, as a TOML file.

[grid]
tasks = ["plus-maze"]
seeds = [0, 1]
preset = "cpu"                          # as `vast train` takes it
steps = 20_000                          # optional, as is everything below
interventions = ["10000:reverse"]
eval_every = 2500                       # and eval_steps, eval_epsilon, log_every

[arms.short-codes]
agent = "vast"
set = { "model.n_bits" = 16 }           # any config field, by the name in config.json

[forks]
at = 15_000                             # train every arm so far, then go on in several ways
same = []                               # with no intervention,
reversed = ["15000:reverse"]            # and with one
"""

import tomllib
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from vast.agents.registry import PRESETS
from vast.errors import UserError, unknown
from vast.experiments.probes import probe_named
from vast.experiments.spec import Arm, Experiment
from vast.tasks import MAZE_FILE, task_named
from vast.training.loop_config import LoopConfig
from vast.training.plain import from_plain, with_changes

LOOP = tuple(each.name for each in fields(LoopConfig))
GRID_KEYS = ("tasks", "seeds", "preset", "steps", "interventions", "probes", *LOOP)
ARM_KEYS = tuple(each.name for each in fields(Arm))
REQUIRED = {"tasks": 'a list of tasks, such as ["plus-maze"]', "seeds": "a list, such as [0, 1]"}
KINDS: dict[str, tuple[Any, str]] = {
    "tasks": (str, "a list of names"),
    "seeds": (int, "a list of whole numbers of 0 or more"),
    "interventions": (str, 'a list of texts, such as ["10000:reverse"]'),
    "probes": (str, "a list of names"),
    "forks": (str, "a list of names"),
}


def read_experiment(path: Path) -> Experiment:
    """Return the experiment of a TOML file; UserError, in one line, for anything wrong in it."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"there is no file {path}") from None
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is not TOML: {error}") from error
    try:
        return _experiment(path, content)
    except UserError as error:
        raise UserError(f"{path}: {error}") from error


def _experiment(path: Path, content: Mapping[str, Any]) -> Experiment:
    for name in content:
        if name not in ("grid", "arms", "forks"):
            raise unknown("table", name, ("grid", "arms", "forks"))
    grid, arms = _table(content, "grid"), _table(content, "arms")
    for name in grid:
        if name not in GRID_KEYS:
            raise unknown("key of [grid]", name, GRID_KEYS)
    for name, what in REQUIRED.items():
        if name not in grid:
            raise UserError(f"[grid] must have {name!r}: {what}")
    preset = grid.get("preset", "cpu")
    if preset not in PRESETS:
        raise unknown("preset", str(preset), PRESETS)
    loop = {name: grid[name] for name in LOOP if name in grid}
    with_changes(LoopConfig(), loop)  # which names a wrong value
    tasks = tuple(_task(path, name) for name in _list(grid, "tasks", "[grid]"))
    fork_at, forks = _forks(content)
    return Experiment(
        name=path.stem,
        tasks=tasks,
        arms={name: _arm(path, name, arms) for name in arms},
        seeds=_seeds(grid, "[grid]"),
        preset=preset,
        steps=_steps(grid, "[grid]"),
        loop=loop,
        interventions=_list(grid, "interventions", "[grid]"),
        fork_at=fork_at,
        forks=forks,
        probes=_probes(grid, "[grid]"),
    )


def _arm(path: Path, name: str, arms: Mapping[str, Any]) -> Arm:
    where = f"[arms.{name}]"
    arm = _table(arms, name, "arms.")
    for key in arm:
        if key not in ARM_KEYS:
            raise unknown(f"key of {where}", key, ARM_KEYS)
    if "agent" not in arm:
        raise UserError(f"{where} must have 'agent', one of `vast tasks`")
    changes = arm.get("set", {})
    if not isinstance(changes, Mapping):
        raise UserError(f"set in {where} must be a table of config fields, got {changes!r}")
    optional = {key: _list(arm, key, where) for key in ("interventions", "forks") if key in arm}
    if "tasks" in arm:
        optional["tasks"] = tuple(_task(path, task) for task in _list(arm, "tasks", where))
    if "seeds" in arm:
        optional["seeds"] = _seeds(arm, where)
    if "probes" in arm:
        optional["probes"] = _probes(arm, where)
    plain = {key: arm[key] for key in ("agent", "preset", "label") if key in arm}
    checked = from_plain(Arm, {**plain, **({"steps": _steps(arm, where)})}, where)
    return Arm(**{**vars(checked), **optional, "set": _flat(changes)})


def _probes(table: Mapping[str, Any], where: str) -> tuple[str, ...]:
    """Return the probes of a table; UserError if there is no such probe."""
    probes = _list(table, "probes", where)
    for name in probes:
        probe_named(name)  # also of arms that no task has
    return probes


def _flat(changes: Mapping[str, Any], where: str = "") -> dict[str, Any]:
    """Return changes by dotted paths, also where TOML made tables of them."""
    found: dict[str, Any] = {}
    for name, value in changes.items():
        if isinstance(value, Mapping):
            found |= _flat(value, f"{where}{name}.")
        else:
            found[f"{where}{name}"] = value
    return found


def _forks(content: Mapping[str, Any]) -> tuple[int | None, dict[str, tuple[str, ...]]]:
    if "forks" not in content:
        return None, {}
    table = dict(_table(content, "forks"))
    at = table.pop("at", None)
    if type(at) is not int or at < 1:
        raise UserError(f"'at' in [forks] must be a number of steps of 1 or more, got {at!r}")
    return at, {name: _list(table, name, "[forks]", "interventions") for name in table}


def _table(content: Mapping[str, Any], name: str, where: str = "") -> Mapping[str, Any]:
    found = content.get(name, {})
    if not isinstance(found, Mapping):
        raise UserError(f"{where}{name} must be a table, [{where}{name}], got {found!r}")
    return found


def _list(
    table: Mapping[str, Any], name: str, where: str, like: str | None = None
) -> tuple[Any, ...]:
    kind, words = KINDS[like or name]
    value = table.get(name, [])
    if not isinstance(value, list) or any(type(part) is not kind for part in value):
        raise UserError(f"{name} in {where} must be {words}, got {value!r}")
    return tuple(dict.fromkeys(value)) if name in ("tasks", "seeds") else tuple(value)


def _seeds(table: Mapping[str, Any], where: str) -> tuple[int, ...]:
    seeds: tuple[int, ...] = _list(table, "seeds", where)
    if min(seeds, default=0) < 0:
        raise UserError(f"seeds in {where} must be {KINDS['seeds'][1]}, got {list(seeds)!r}")
    return seeds


def _steps(table: Mapping[str, Any], where: str) -> int | None:
    value = table.get("steps")
    if value is not None and (type(value) is not int or value < 1):
        raise UserError(f"steps in {where} must be a whole number of 1 or more, got {value!r}")
    return value


def _task(path: Path, name: str) -> str:
    """Return a task; a .maze file beside the TOML file is found from anywhere."""
    if name.endswith(MAZE_FILE) and (path.parent / name).exists():
        name = str((path.parent / name).absolute())
    task_named(name)
    return name
