"""A kernel cache that cannot be used costs time and one line, never a traceback or the result."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from vast.planning import kernels
from vast.planning.compiled import CACHE_FOLDER

PIXELS = """
import numpy as np
from vast.envs.doom.frames import shrink
assert shrink(np.full((120, 160, 3), 7, np.uint8)).tolist() == [[[7] * 3] * 80] * 60
"""
TABLE = """
from vast.planning import TransitionTable
table = TransitionTable(2, 0.5)
table.add(1, 0, 0.0, 2)
table.add(2, 1, 1.0, None)
table.sweep()
assert (table.value(1), table.value(2)) == (0.5, 1.0)
"""
FULL = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, resource.RLIM_INFINITY))
"""
ANNOUNCED = "vast: compiling the planning kernels, once after an install: about 30 s in all\n"


def run(code: str, cache: Path, **more: str) -> str:
    environment = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment | {"XDG_CACHE_HOME": str(cache)} | more,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    return done.stderr


def line(folder: Path, reason: str) -> str:
    return (
        f"vast: cannot use the kernel cache {folder} ({reason}); compiling in memory, up to 30 s "
        "in every run: delete it, or set NUMBA_CACHE_DIR to another folder\n"
    )


def cut(content: bytes) -> bytes:
    return content[: len(content) // 2]


def emptied(content: bytes) -> bytes:
    return b""


def zeroed(content: bytes) -> bytes:
    return bytes(len(content))


def garbled(content: bytes) -> bytes:
    """Damage in the middle, which in a data file is machine code: only a checksum notices it."""
    middle = len(content) // 2
    return content[: middle - 16] + b"\xa5" * 32 + content[middle + 16 :]


def garbage(content: bytes) -> bytes:
    return b"\x93garbage" * 1000


def damage(cache: Path, pattern: str, how: Callable[[bytes], bytes]) -> None:
    files = [path for path in cache.rglob(pattern) if path.is_file()]
    assert files
    for path in files:
        path.write_bytes(how(path.read_bytes()))


@pytest.fixture(scope="module")
def pixels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """A cache with the compiled code of one environment."""
    cache = tmp_path_factory.mktemp("pixels")
    assert run(PIXELS, cache) == ""
    files = [path for path in cache.rglob("*") if path.is_file()]
    assert {path.suffix for path in files} == {".nbi", ".nbc"}
    return {str(path.relative_to(cache)): path.read_bytes() for path in files}


def written(cache: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        (cache / name).parent.mkdir(parents=True, exist_ok=True)
        (cache / name).write_bytes(content)
    return cache


@pytest.mark.slow
@pytest.mark.parametrize("how", [cut, emptied, zeroed, garbled, garbage])
@pytest.mark.parametrize("pattern", ["*.nbi", "*.nbc"])
def test_a_damaged_cache_is_not_used(
    pattern: str, how: Callable[[bytes], bytes], pixels: dict[str, bytes], tmp_path: Path
) -> None:
    damage(written(tmp_path, pixels), pattern, how)
    said = run(PIXELS, tmp_path)
    harmless = (pattern, how) == ("*.nbi", garbled)  # the index may then name another source file
    assert said == line(tmp_path / "vast", "damaged") or (harmless and said == "")


def test_a_sound_cache_is_used_silently_and_not_written_to(
    pixels: dict[str, bytes], tmp_path: Path
) -> None:
    written(tmp_path, pixels)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    assert run(PIXELS, tmp_path) == ""
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


@pytest.mark.slow
def test_what_the_line_says_helps(pixels: dict[str, bytes], tmp_path: Path) -> None:
    damage(written(tmp_path, pixels), "*.nbc", cut)
    other = tmp_path / "other"
    assert run(PIXELS, tmp_path, NUMBA_CACHE_DIR=str(other)) == ""
    damage(other, "*.nbc", cut)
    assert run(PIXELS, tmp_path, NUMBA_CACHE_DIR=str(other)) == line(other, "damaged")
    (tmp_path / "vast").rename(tmp_path / "deleted")
    assert run(PIXELS, tmp_path) == run(PIXELS, tmp_path) == ""


@pytest.mark.slow
def test_a_cache_that_cannot_be_written_is_not_used(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("not a folder")
    assert run(PIXELS, file) == line(file / "vast", "Not a directory")
    below = Path("/proc/nobody/writes/here")
    assert run(PIXELS, below) == line(below / "vast", "No such file or directory")
    assert run(FULL + PIXELS, tmp_path) == line(tmp_path / "vast", "File too large")
    assert run(PIXELS, tmp_path) == ""  # what was written to the full disk does no harm


@pytest.mark.slow
def test_a_table_is_right_on_a_full_disk(tmp_path: Path) -> None:
    said = run(FULL + TABLE + PIXELS, tmp_path)
    assert said == ANNOUNCED + line(tmp_path / "vast", "File too large")


@pytest.mark.slow
def test_a_table_is_right_with_damaged_kernels(tmp_path: Path) -> None:
    exec(TABLE)  # compiles the kernels, or loads them
    warm = Path(vars(kernels)["add"].stats.cache_path)
    shutil.copytree(warm, tmp_path / "vast" / CACHE_FOLDER.name / warm.name)
    assert run(TABLE, tmp_path) == ""
    damage(tmp_path, "kernels.add-*.nbc", garbled)
    damage(tmp_path, "kernels.sweep-*.nbi", cut)
    assert run(TABLE, tmp_path) == line(tmp_path / "vast", "damaged")


INTERRUPTED = """
import signal
from numba.core.codegen import CPUCodeLibrary
theirs = CPUCodeLibrary._object_compiled_hook
def called_back(*arguments):
    signal.raise_signal(signal.SIGINT)
    theirs(*arguments)
CPUCodeLibrary._object_compiled_hook = called_back
import numpy as np
from vast.envs.doom.frames import shrink
for _ in range(2):
    try:
        print(shrink(np.full((120, 160, 3), 7, np.uint8)).sum())
    except KeyboardInterrupt:
        print("interrupted")
"""


def test_an_interrupt_while_llvm_calls_back_is_not_lost(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == (f"interrupted\n{7 * 60 * 80 * 3}\n", "")
