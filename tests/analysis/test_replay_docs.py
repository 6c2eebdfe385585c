"""The code of docs/replay-sequences.md runs as it stands there, in order."""

import csv
import re
from pathlib import Path
from typing import Any

import pytest

from tests.experiments.sameness import vast
from vast.planning import SweepLog

TEXT = (Path(__file__).parents[2] / "docs" / "replay-sequences.md").read_text(encoding="utf-8")


def test_all_code_runs_and_gives_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    vast("train", "t-maze-2d", "--preset", "debug", "--out", "runs/my")
    before = {path: path.read_bytes() for path in Path("runs").rglob("*") if path.is_file()}
    code = "\n".join(re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL))
    names: dict[str, Any] = {}
    capsys.readouterr()
    exec(code, names)
    log = names["log"]
    assert isinstance(log, SweepLog)
    assert f"{len(log.pops.states)} states popped, {len(log)} backups" in capsys.readouterr().out
    assert len(log) > 0
    assert names["table"].value(names["goal"]) > 1 - 1e-9
    with open("sweep.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(log)
    assert all(row["x"] and row["popped_x"] for row in rows)  # all states have been seen somewhere
    for name in ("forward", "reverse"):
        (told,) = re.findall(rf"^{name} = .*# (.*)$", code, re.MULTILINE)
        assert repr(names[name]) == told
    after = {path: path.read_bytes() for path in Path("runs").rglob("*") if path.is_file()}
    assert after == before
