"""The code of docs/reading-a-table.md runs as it stands there, in order, and tells the truth."""

import csv
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.explorer.conftest import Site, content

TEXT = (Path(__file__).parents[2] / "docs" / "reading-a-table.md").read_text(encoding="utf-8")

pytestmark = pytest.mark.slow


def test_reading_a_table(
    site: Site,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("runs").mkdir()
    Path("runs/my").symlink_to(site.folder)
    before = content(site.folder)
    names: dict[str, Any] = {}
    capsys.readouterr()
    blocks = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert len(blocks) >= 8
    exec("\n".join(blocks), names)
    said = capsys.readouterr().out

    table, states = site.table(), names["states"]
    assert said.startswith(f"{len(table)} states, {table.n_transitions} transitions, discount 0.99")
    assert len(names["frames"]) == states.frame_counts.max()
    assert names["looks_like"].shape[1:] == names["frames"].shape[1:]
    assert names["fields"].share.shape[0] == states.n_bits
    q = table.q(names["state"])[names["best"]]
    assert names["backup"] == pytest.approx(q, abs=2 * table.min_priority)
    assert names["backups"] > 0
    assert "Progress(backups=" in said
    changed = np.nan_to_num(names["painted"]) - np.nan_to_num(site.view.states.value)
    assert np.abs(changed).max() > 0.1
    assert names["detour"].rows[0] == names["most"]
    with open("sweep.csv", newline="", encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) == len(names["log"]) > 0
    assert len(names["same"]) == len(names["table"])
    assert content(site.folder) == before
