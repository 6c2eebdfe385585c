"""Stop + resume of every baseline through the command equals never having stopped."""

from pathlib import Path
from typing import Any

import pytest

from tests.training.runs import identical
from vast.cli import main
from vast.training.checkpoint import Checkpoint
from vast.training.metrics import read_metrics


def saved(folder: Path) -> tuple[dict[str, Any], list[Any]]:
    """Return all of a checkpoint, without what the clock says."""
    state, pieces = Checkpoint(folder / "checkpoint").load()
    del state["loop"]["wall_seconds"], state["metrics_offset"]
    return state, [{name: piece[name] for name in piece} for piece in pieces]


def rows(folder: Path) -> list[dict[str, Any]]:
    found = read_metrics(folder / "metrics.jsonl")
    return [{name: row[name] for name in row if name != "wall_seconds"} for row in found]


@pytest.mark.slow
@pytest.mark.parametrize("task", ["plus-maze", "t-maze-2d"])
@pytest.mark.parametrize("agent", ["lsh", "mfec", "nec", "ddqn"])
def test_a_run_resumed_is_the_run_that_never_stopped(agent: str, task: str, tmp_path: Path) -> None:
    options = ["train", task, "--agent", agent, "--preset", "debug"]
    main([*options, "--steps", "600", "--out", str(tmp_path / "whole")])
    main([*options, "--steps", "253", "--out", str(tmp_path / "parts")])
    main(["resume", str(tmp_path / "parts"), "--steps", "600"])
    (whole, _), (parts, _) = saved(tmp_path / "whole"), saved(tmp_path / "parts")
    assert identical(whole, parts)
    assert rows(tmp_path / "whole") == rows(tmp_path / "parts")
    tests = [row for row in rows(tmp_path / "whole") if "eval/episodes" in row]
    assert [row["step"] for row in tests] == [200, 400, 600]
