"""What is true after the code of a page has run, beyond what the page itself compares."""

import csv
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

import vast
from tests.docs.pages import blocks, text
from vast.experiments.grids.run import wanted
from vast.experiments.run_directory import read_config
from vast.planning import SweepLog

GRIDS = "docs/grids.md"
READING = "docs/reading-a-table.md"
SEQUENCES = "docs/replay-sequences.md"
VIEWS = "docs/analysis.md"
SHARING = "docs/sharing.md"
TUNING = "docs/tuning.md"


def _rows(name: str) -> list[dict[str, str]]:
    with open(name, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _reading(names: dict[str, Any], said: str) -> None:
    table, states = vast.load_table("runs/my"), names["states"]
    assert said.startswith(f"{len(table)} states, {table.n_transitions} transitions, discount 0.99")
    assert len(names["frames"]) == states.frame_counts.max()
    assert names["looks_like"].shape[1:] == names["frames"].shape[1:]
    assert names["fields"].share.shape[0] == states.n_bits
    q = table.q(names["state"])[names["best"]]
    assert names["backup"] == pytest.approx(q, abs=2 * table.min_priority)
    assert names["backups"] > 0
    assert "Progress(backups=" in said
    changed = np.nan_to_num(names["painted"]) - np.nan_to_num(states.value)
    assert np.abs(changed).max() > 0.1
    assert names["detour"].rows[0] == names["most"]
    assert len(_rows("sweep.csv")) == len(names["log"]) > 0
    assert len(names["same"]) == len(names["table"])
    assert Path("runs/my/checkpoint").is_dir()


def _sequences(names: dict[str, Any], said: str) -> None:
    log = names["log"]
    assert isinstance(log, SweepLog)
    assert f"{len(log.pops.states)} states popped, {len(log)} backups" in said
    assert len(log) > 0
    assert names["table"].value(names["goal"]) > 1 - 1e-9
    rows = _rows("sweep.csv")
    assert len(rows) == len(log)
    assert all(row["x"] and row["popped_x"] for row in rows)  # all states were seen somewhere


def _views(names: dict[str, Any], said: str) -> None:
    calls = re.findall(r"^draw_\w+\(.*\)$", text(VIEWS), re.MULTILINE)
    assert len(calls) >= 6
    for call in calls:
        assert isinstance(eval(call, names), Figure), call


def _grids(names: dict[str, Any], said: str) -> None:
    whole = "".join(block.code for block in blocks(GRIDS) if block.language == "toml")
    Path("whole.toml").write_text(whole, encoding="utf-8")
    directory, grid = wanted("whole.toml")
    forks = {run.name for run in grid.runs() if run.name.startswith("plus-maze-short-codes")}
    assert directory == Path("grids/whole")
    assert forks == {
        f"plus-maze-short-codes{fork}-{seed}"
        for fork in ("", "-same", "-reversed")
        for seed in (0, 1)
    }


def _sharing(names: dict[str, Any], said: str) -> None:
    assert len(names["table"]) == len(names["agent"].table) > 0
    assert names["agent"].steps == 400
    assert not names["agent"].replay.has_frames


def _tuning(names: dict[str, Any], said: str) -> None:
    study = names["study"]
    assert [trial.state.name for trial in study.trials] == ["COMPLETE", "COMPLETE"]
    assert [len(trial.intermediate_values) for trial in study.trials] == [3, 3]
    assert study.best_value == max(trial.value for trial in study.trials) > 0
    for trial in study.trials:
        run = read_config(Path("runs/tuning", str(trial.number)))
        assert run.settings.model.n_bits == trial.params["n_bits"]
    assert said.strip() == f"{study.best_params} {study.best_value}"


FACTS: dict[str, Callable[[dict[str, Any], str], None]] = {
    GRIDS: _grids,
    READING: _reading,
    SEQUENCES: _sequences,
    SHARING: _sharing,
    TUNING: _tuning,
    VIEWS: _views,
}
