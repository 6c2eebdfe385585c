"""Stop + resume of every baseline through the command equals never having stopped."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.training.runs import identical
from vast.cli import main
from vast.experiments.runs import open_readonly
from vast.replay import Replay
from vast.training.checkpoint import Checkpoint
from vast.training.metrics import read_metrics


def saved(folder: Path) -> dict[str, Any]:
    """Return all of a checkpoint and its frames, without what the clock says."""
    state, _ = Checkpoint(folder / "checkpoint").load()
    del state["wall_seconds"], state["metrics_offset"]
    with open_readonly(folder) as run:
        store = run.agent.frame_store
        if isinstance(store, Replay):
            state["frames"] = store.frames(np.arange(store.oldest, store.end))
    return state


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
    whole = saved(tmp_path / "whole")
    assert identical(whole, saved(tmp_path / "parts"))
    assert ("frames" in whole) == (agent in ("nec", "ddqn"))
    assert rows(tmp_path / "whole") == rows(tmp_path / "parts")
    tests = [row for row in rows(tmp_path / "whole") if "eval/episodes" in row]
    assert [row["step"] for row in tests] == [200, 400, 600]
