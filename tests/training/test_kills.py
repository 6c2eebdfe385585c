"""A run killed while it saves leaves a checkpoint of one moment, and goes on from it."""

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.training.runs import sound

ROOT = Path(__file__).parents[2]


def command(what: str, folder: Path) -> list[str]:
    return [sys.executable, "-W", "ignore", "-m", "tests.training.killed", what, str(folder)]


def test_a_save_killed_before_any_of_its_changes_is_as_if_not_begun_or_done(tmp_path: Path) -> None:
    done = subprocess.run(
        command("everywhere", tmp_path), cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    steps = [int(line) for line in done.stdout.split()]
    switch = steps.index(43)
    # Three pieces, the state, the manifest and the folder twice; then the files that it removes.
    assert switch >= 6
    assert len(steps) > switch + 2
    assert steps == [36] * switch + [43] * (len(steps) - switch)


@pytest.mark.slow
def test_a_run_killed_at_random_moments_loses_nothing_that_was_saved(tmp_path: Path) -> None:
    folder, last = tmp_path / "checkpoint", 0
    for seed in range(15):
        run = subprocess.Popen(command("forever", folder), cwd=ROOT, stdout=subprocess.PIPE)
        assert run.stdout is not None
        with run.stdout:
            first = int(run.stdout.readline())
            assert first == last + 7
            time.sleep(random.Random(seed).uniform(0, 0.05))
            run.kill()
            said = [first, *(int(line) for line in run.stdout)]
        run.wait()
        last = sound(folder)
        # A save may be done and not yet have been told of.
        assert last in (said[-1], said[-1] + 7)
