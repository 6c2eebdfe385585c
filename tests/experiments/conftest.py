"""A command that must be refused."""

from pathlib import Path

import pytest

from tests.experiments.sameness import vast


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
