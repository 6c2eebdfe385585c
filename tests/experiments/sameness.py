"""Runs of the command, in this process or in one that is killed, and what they leave behind."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tests.training.runs import identical
from vast.cli import main
from vast.replay import Replay
from vast.training.checkpoint import Checkpoint
from vast.training.metrics import read_metrics

CLOCKS = ("/wall_seconds", "/metrics_offset")
"""what differs between two runs that did the same: times, and so the length of a row"""
SAVING = """
import sys
from vast.experiments import runs
runs.SAVE_SECONDS = {seconds}
from vast.cli import main
main(sys.argv[1:])
"""


def vast(*words: str | Path) -> None:
    """Run the command here."""
    main([str(word) for word in words])


def started(*words: str | Path, seconds: float = 60.0, setup: str = "") -> subprocess.Popen[str]:
    """Run the command in a process of its own, which saves every so many seconds."""
    code = setup + SAVING.format(seconds=seconds)
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", code, *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


def killed_at(folder: Path, step: int, *words: str | Path, seconds: float = 0.1) -> int:
    """Run the command until a checkpoint of `step` or more is there, kill it, return which it is.

    When it was killed, and how far it had come after its last save, is left to chance.
    """
    process = started(*words, seconds=seconds)
    while process.poll() is None and last_save(folder) < step:
        time.sleep(0.005)
    time.sleep(0.03)
    process.send_signal(signal.SIGKILL)
    _, said = process.communicate()
    assert process.returncode == -signal.SIGKILL, said
    return int(saved(folder)["/agent/steps"])


def last_save(folder: Path) -> int:
    try:
        lines = (folder / "checkpoints.jsonl").read_text().splitlines()
    except FileNotFoundError:
        return -1
    return int(json.loads(lines[-1])["step"]) if lines else -1


def flat(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for name, part in value.items():
            yield from flat(part, f"{place}/{name}")
    else:
        yield place, value


def saved(folder: Path) -> dict[str, Any]:
    """Return all of a checkpoint, by place, and its frames."""
    state, pieces = Checkpoint(folder / "checkpoint").load()
    found = dict(flat(state))
    kept = state["agent"]["replay"]
    replay = Replay(
        int(kept["capacity"]),
        tuple(kept["shape"].tolist()),
        int(kept["n_actions"]),
        dtype=np.dtype(kept["dtype"]),
        history=int(kept["history"]),
        compressed=bool(kept["compressed"]),
        delete_evicted=bool(kept["delete_evicted"]),
    )
    replay.load_state_dict(kept, pieces)
    return {**found, "/frames": replay.frames(np.arange(replay.oldest, replay.end))}


def rows(folder: Path) -> list[dict[str, Any]]:
    """Return the rows of metrics, without what the clock says."""
    found = read_metrics(folder / "metrics.jsonl")
    return [{name: row[name] for name in row if name != "wall_seconds"} for row in found]


def assert_same(one: Path, other: Path) -> None:
    """The runs in two folders are the same, to the bit."""
    a, b = saved(one), saved(other)
    assert a.keys() == b.keys()
    different = [name for name in a if name not in CLOCKS and not identical(a[name], b[name])]
    assert different == [], different
    assert rows(one) == rows(other)
