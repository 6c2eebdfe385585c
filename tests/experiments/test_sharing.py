"""A run as one file: `vast export` and `vast import`."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vast as package
from tests.experiments.conftest import SHARED, Refused, files_in
from tests.experiments.sameness import assert_same, flat, rows, vast
from tests.training.runs import identical
from vast.errors import UserError
from vast.experiments.runs import open_readonly
from vast.replay import Replay
from vast.training.checkpoint import Checkpoint


def evaluated(run: Path, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    vast("eval", run, "--steps", "60")
    return capsys.readouterr().out


def table_of(run: Path) -> dict[str, Any]:
    return dict(flat(package.load_table(run).state_dict()))


@pytest.mark.parametrize("task", SHARED)
def test_an_imported_agent_is_the_same_agent(
    task: str, trained: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = trained[task]
    shared = tmp_path / "moved.vast"
    shutil.copy(run.parent / "agent.vast", shared)
    vast("import", shared, "--out", tmp_path / "run")
    assert evaluated(run, capsys) == evaluated(tmp_path / "run", capsys)
    folders = [each / "checkpoint" for each in (run, tmp_path / "run")]
    states = [dict(flat(Checkpoint(folder).load()[0])) for folder in folders]
    assert identical(*states)
    assert rows(run) == rows(tmp_path / "run")
    assert identical(table_of(run), table_of(tmp_path / "run"))
    assert identical(table_of(run), table_of(shared))
    for each in ("config.json", *(["maze.maze"] if task == "mine.maze" else [])):
        assert (tmp_path / "run" / each).read_bytes() == (run / each).read_bytes()
    with open_readonly(run) as one, open_readonly(tmp_path / "run") as other:
        poses = []
        for opened, has_frames in ((one, True), (other, task != "mine.maze")):
            replay = opened.agent.frame_store
            assert isinstance(replay, Replay)
            assert replay.has_frames == has_frames
            poses.append(replay.poses(np.arange(replay.oldest, replay.end)))
        assert identical(*poses)


def test_python_loads_a_file_without_unpacking_it(
    trained: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = trained["gym:CartPole-v1"]
    monkeypatch.chdir(tmp_path)
    before = files_in(run.parent)
    agents = [package.VaST.load(p, "CartPole-v1") for p in (run, run.parent / "agent.vast")]
    assert files_in(run.parent) == before
    assert list(tmp_path.iterdir()) == []
    for seen in np.random.default_rng(0).normal(size=(20, 4)).astype(np.float32):
        one, other = (agent.q_values(seen) for agent in agents)
        np.testing.assert_array_equal(one, other)
    assert [agent.run_directory for agent in agents] == [run, None]
    agents[1].learn(5, progress=False)  # vectors are included
    with pytest.raises(UserError, match="must hold the agent 'nec', got 'vast'"):
        package.NEC.load(run.parent / "agent.vast", "CartPole-v1")
    for agent in agents:
        agent.close()


def test_without_its_images_an_agent_is_shown_but_not_trained(
    trained: dict[str, Path], tmp_path: Path, refused: Refused
) -> None:
    vast("import", trained["mine.maze"].parent / "agent.vast", "--out", "run")
    said = refused("resume", "run", "--steps", "60")
    assert said == (
        "vast: run cannot be resumed: its frames were left out when it was exported; "
        "`vast export --with-replay` includes them\n"
    )
    vast("report", "run")
    assert "left out when this run was exported" in Path("run/report.html").read_text("utf-8")
    vast("play", "run", "--out", "film.gif", "--steps", "5")
    agent = package.VaST.load("run", package_env("run"))
    steps = agent.steps
    for out in (None, None, "new"):  # nothing has changed the second time
        with pytest.raises(UserError, match="to learn, an agent needs its frames"):
            agent.learn(5, out=out, progress=False)
    assert agent.steps == steps
    assert not Path("new").exists()
    agent.close()
    vast("export", "run", "again.vast")
    vast("import", "again.vast", "--out", "again")
    assert identical(table_of(Path("run")), table_of(Path("again")))


def package_env(run: str) -> Any:
    from vast.experiments.run_directory import read_config

    return read_config(Path(run)).make_env()


def test_with_its_replay_it_is_resumed_to_the_bit(
    trained: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = trained["mine.maze"]
    vast("export", run, "whole.vast", "--with-replay")
    assert Path("whole.vast").stat().st_size > (run.parent / "agent.vast").stat().st_size
    vast("import", "whole.vast")  # its default place
    shutil.copytree(run, "run")
    for each in ("run", "runs/whole"):
        vast("resume", each, "--steps", "70")
    assert_same(Path("run"), Path("runs/whole"))


def test_the_same_run_gives_the_same_file(trained: dict[str, Path], tmp_path: Path) -> None:
    vast("export", trained["t-maze-2d"], tmp_path / "b.vast")
    first = trained["t-maze-2d"].parent / "agent.vast"
    assert (tmp_path / "b.vast").read_bytes() == first.read_bytes()


# --- mistakes ---------------------------------------------------------------------------------


def test_mistakes_get_one_line(trained: dict[str, Path], tmp_path: Path, refused: Refused) -> None:
    run = trained["t-maze-2d"]
    assert "must end in .vast, got agent.zip" in refused("export", run, "agent.zip")
    assert "is not a run directory" in refused("export", "nowhere", "agent.vast")
    assert "cannot read nowhere.vast: No such file" in refused("import", "nowhere.vast")
    assert "cannot write nowhere/agent.vast" in refused("export", run, "nowhere/agent.vast")
    Path("there").mkdir()
    file = run.parent / "agent.vast"
    assert "there exists already" in refused("import", file, "--out", "there")
