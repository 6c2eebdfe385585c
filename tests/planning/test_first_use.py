"""The first call after an install explains why it is slow; later calls are fast and silent."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

CODE = "from vast.planning import TransitionTable as T; t = T(2); t.add(1, 0, 1.0, None); t.sweep()"


def first_use(cache: Path) -> str:
    environment = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"}
    done = subprocess.run(
        [sys.executable, "-c", CODE],
        env=environment | {"XDG_CACHE_HOME": str(cache)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == ""
    return done.stderr


@pytest.mark.slow
def test_compiling_is_announced_in_one_line_and_done_once(tmp_path: Path) -> None:
    announced = first_use(tmp_path)
    assert announced.count("\n") == 1
    assert "compiling the planning kernels" in announced
    assert "about 30 s" in announced
    assert first_use(tmp_path) == ""
