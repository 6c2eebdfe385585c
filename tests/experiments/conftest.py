"""A command that must be refused, and runs to share."""

from pathlib import Path

import pytest

from tests.experiments.sameness import vast

SHARED = {"t-maze-2d": 200, "gym:CartPole-v1": 200, "mine.maze": 40}
"""what is trained, and for how many steps: vectors twice, and images in a maze of one's own"""


def files_in(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


class Refused:
    """Runs the command, and returns the one line it says; nothing may change in the folder."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._folder = folder
        self._capsys = capsys

    def __call__(self, *words: str | Path) -> str:
        before, folders = files_in(self._folder), set(self._folder.rglob("*"))
        self._capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            vast(*words)
        assert stop.value.code == 2
        out, error = self._capsys.readouterr()
        assert out == ""
        assert error.startswith("vast: ")
        assert error.count("\n") == 1
        assert files_in(self._folder) == before
        assert set(self._folder.rglob("*")) == folders
        return error


@pytest.fixture
def refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Refused:
    monkeypatch.chdir(tmp_path)
    return Refused(tmp_path, capsys)


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return runs by task, each beside its file `agent.vast`."""
    from tests.experiments.test_own_maps import MAZE

    found = {}
    for task, steps in SHARED.items():
        folder = tmp_path_factory.mktemp("trained")
        (folder / "mine.maze").write_text(MAZE, encoding="utf-8")
        what = folder / task if task == "mine.maze" else task
        debug = ("--preset", "debug", "--steps", str(steps))
        vast("train", what, *debug, "--out", folder / "run")
        (folder / "mine.maze").unlink()
        vast("export", folder / "run", folder / "agent.vast")
        found[task] = folder / "run"
    return found
