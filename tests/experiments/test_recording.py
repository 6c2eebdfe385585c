"""`agent.learn(steps, out=DIR)`: a run directory that the command understands."""

import json
import re
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import wrappers

from tests.agents.worlds import TINY, Grid
from tests.experiments.conftest import Refused, files_in
from tests.experiments.sameness import CLOCKS, assert_same, rows, saved, vast
from tests.experiments.test_own_maps import MAZE
from tests.training.runs import identical
from vast import LSH, VaST, load_table
from vast.agents.bins import Bins, BinsConfig
from vast.errors import UserError
from vast.experiments.run_directory import read_config
from vast.experiments.runs import open_readonly
from vast.explorer.view import view_of_run
from vast.training.callbacks import Callback, Row
from vast.training.protocol import Trainable

ID = "vast/TMaze2D-v0"


class Rows(Callback):
    """Keeps every row of metrics, and may stop the run."""

    def __init__(self, stop_at: int | None = None) -> None:
        self.rows: list[Row] = []
        self._stop_at = stop_at

    def on_step(self, agent: Trainable, total: int) -> bool:
        return agent.steps == self._stop_at

    def on_metrics(self, row: Row) -> None:
        self.rows.append(dict(row))


def test_it_is_the_run_of_the_command_and_the_command_goes_on_with_it(tmp_path: Path) -> None:
    seen = Rows()
    agent = VaST(ID, preset="debug", seed=2)
    agent.learn(250, out=tmp_path / "run", callbacks=[seen], progress=False)
    agent.close()
    vast("train", "t-maze-2d", "--preset", "debug", "--seed", "2", "--out", tmp_path / "whole")
    whole = rows(tmp_path / "whole")
    assert read_config(tmp_path / "run").task == "t-maze-2d"
    logged = [{name: row[name] for name in row if name != "wall_seconds"} for row in seen.rows]
    assert [row["step"] for row in logged] == [50, 100, 150, 200, 250]
    assert "eval/reward_per_step" in logged[3]
    assert identical(rows(tmp_path / "run"), whole[:5])
    assert rows(tmp_path / "run") == [
        {name: None if value != value else value for name, value in row.items()} for row in logged
    ]
    vast("resume", tmp_path / "run", "--steps", "400")
    assert rows(tmp_path / "run") == whole
    ours, theirs = saved(tmp_path / "run"), saved(tmp_path / "whole")
    different = [name for name in ours if not identical(ours[name], theirs[name])]
    # A library leaves the global random generators alone; the command seeds them.
    assert [
        name for name in different if name not in CLOCKS and not name.startswith("/global_rng")
    ] == []


def test_a_run_of_the_command_goes_on_in_python_and_back(tmp_path: Path) -> None:
    words = ("train", "gym:CartPole-v1", "--agent", "vast", "--preset", "debug", "--steps")
    vast(*words, "230", "--out", tmp_path / "whole")
    vast(*words, "100", "--out", tmp_path / "run")
    agent = VaST.load(tmp_path / "run", "CartPole-v1")
    agent.learn(30, out=tmp_path / "run", progress=False)
    agent.learn(70, out=tmp_path / "run", progress=False)
    agent.close()
    vast("resume", tmp_path / "run", "--steps", "230")
    assert_same(tmp_path / "whole", tmp_path / "run")


def test_the_command_reports_and_explores_what_it_cannot_resume(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], refused: Refused
) -> None:
    run = tmp_path / "run"
    VaST(Grid(), config=TINY).learn(60, out=run, test_env=Grid(), progress=False)
    reason = "its environment, Grid, was not made by gymnasium.make"
    assert f"cannot be resumed from the shell: {reason}\n" in capsys.readouterr().err
    config = read_config(run)
    assert (config.task, config.preset) == ("python:Grid", "custom")
    assert reason in refused("resume", run)
    assert "VaST.load('" in refused("resume", run)
    said = refused("train", "--config", run, "--out", tmp_path / "new")
    assert f"new cannot be trained from the shell: {reason}; in Python: VaST(env).learn(" in said
    assert f"cannot be made here: {reason}" in refused("eval", run)
    assert f"cannot be made here: {reason}" in refused("play", run, "--out", tmp_path / "a.gif")
    vast("report", run)
    page = (run / "report.html").read_text(encoding="utf-8")
    assert "There is no agent to look into" not in page
    assert "Each of the" in page
    with open_readonly(run) as opened:
        view = view_of_run(opened)
        assert len(view.states) == len(load_table(run))
        with pytest.raises(UserError, match="cannot be made here"):
            view.new_env().reset()
    again = VaST.load(run, Grid())
    again.learn(20, out=run, progress=False)
    whole = VaST(Grid(), config=TINY).learn(80)
    assert identical(load_table(run).state_dict(), whole.table.state_dict())


@pytest.mark.parametrize(
    ("env", "reason"),
    [
        (lambda: gymnasium.make("CartPole-v1", max_episode_steps=9), "max_episode_steps=9"),
        (
            lambda: gymnasium.make("CartPole-v1", sutton_barto_reward=True),
            "CartPole-v1 with other options: sutton_barto_reward=True",
        ),
        (
            lambda: wrappers.TimeAwareObservation(gymnasium.make("CartPole-v1")),
            r"wrappers=\['TimeAwareObservation'\]",
        ),
        (lambda: gymnasium.make("tests/Grid-v0"), "the shell does not import.*'MODULE:tests/Grid"),
    ],
)
def test_the_reason_why_the_shell_cannot_resume_is_said(
    env: Any, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gymnasium.registry.pop("tests/Grid-v0", None)
    gymnasium.register("tests/Grid-v0", "tests.agents.worlds:Grid")
    LSH(env(), preset="debug").learn(10, out=tmp_path / "run", progress=False)
    own = read_config(tmp_path / "run").own_env
    assert own is not None
    with pytest.raises(AssertionError, match=reason):
        raise AssertionError(own.reason)
    said = capsys.readouterr().err
    assert own.reason in said
    assert said.endswith("; without a test_env there are no test epochs\n")


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("dtype", "O", "dtype must be one of uint8, float16, float32, .*, got 'O'"),
        ("dtype", "nonsense", "dtype must be one of uint8, .*, got 'nonsense'"),
        ("shape", [4, 4], "shape must be 1 or 3 sizes of at least 1, got"),
        ("shape", [], "shape must be 1 or 3 sizes of at least 1, got"),
        ("shape", [0], "shape must be 1 or 3 sizes of at least 1, got"),
        ("n_actions", 0, "n_actions must be between 1 and "),
    ],
)
def test_an_environment_that_cannot_be_is_refused(
    field: str, value: Any, said: str, tmp_path: Path, refused: Refused
) -> None:
    run = tmp_path / "run"
    LSH(Grid(), preset="debug").learn(10, out=run, progress=False)
    content = json.loads((run / "config.json").read_text(encoding="utf-8"))
    content["config"]["own_env"][field] = value
    (run / "config.json").write_text(json.dumps(content), encoding="utf-8")
    assert re.search(said, refused("eval", run))


class Walled(Grid):
    """A grid that is told where its walls are."""

    def __init__(self, walls: Any, rows: Any = ()) -> None:
        super().__init__()
        self.walls, self.rows = walls, rows


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({}, r"registered by a module"),
        ({"walls": np.eye(2)}, r"registered by a module"),
        ({"walls": np.ones((2, 2))}, r"other options: walls=array\(\[\[1., 1.\], \[1., 1.\]\]\)$"),
        ({"walls": None}, r"other options: walls=None$"),
        ({"rows": [np.ones(2)]}, r"other options: rows=\[array\(\[1., 1.\]\)\]$"),
    ],
)
def test_options_may_be_arrays(options: dict[str, Any], reason: str, tmp_path: Path) -> None:
    usual = {"walls": np.eye(2), "rows": [np.zeros(2)] if "rows" in options else ()}
    gymnasium.registry.pop("tests/Walled-v0", None)
    gymnasium.register("tests/Walled-v0", f"{__name__}:Walled", kwargs=usual)
    env = gymnasium.make("tests/Walled-v0", **options)
    LSH(env, preset="debug").learn(10, out=tmp_path / "run", progress=False)
    own = read_config(tmp_path / "run").own_env
    assert own is not None
    assert re.search(reason, own.reason)


def test_ways_of_rendering_make_no_difference_and_ids_with_modules_are_kept(tmp_path: Path) -> None:
    filmed = gymnasium.make("CartPole-v1", render_mode="rgb_array")
    LSH(filmed, preset="debug").learn(5, out=tmp_path / "a", progress=False)
    assert read_config(tmp_path / "a").task == "gym:CartPole-v1"
    agent = LSH("gymnasium:CartPole-v1", preset="debug")
    agent.learn(5, out=tmp_path / "b", progress=False)
    assert read_config(tmp_path / "b").task == "gym:gymnasium:CartPole-v1"
    vast("resume", tmp_path / "b", "--steps", "10")


def test_a_directory_with_another_run_is_refused_and_unchanged(tmp_path: Path) -> None:
    run = tmp_path / "run"
    agent = LSH(ID, preset="debug")
    agent.learn(20, out=run, progress=False)
    before = files_in(run)
    with pytest.raises(UserError, match=r"a run at step 20, got an agent at step 0.*LSH.load"):
        LSH(ID, preset="debug").learn(5, out=run)
    assert files_in(run) == before
    late = LSH.load(run, ID)
    other = LSH.load(run, "vast/TMaze2D-v0")
    late.learn(30, out=run, progress=False)
    with pytest.raises(UserError, match="holds a run at step 50, got an agent at step 20"):
        other.learn(5, out=run)
    strange = LSH.load(
        run, wrappers.TransformReward(gymnasium.make(ID), lambda reward: 2 * float(reward))
    )
    with pytest.raises(UserError, match=r"holds another run: task is 't-maze-2d' there"):
        strange.learn(5, out=run)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("mine")
    with pytest.raises(UserError, match="not empty and not a run directory"):
        agent.learn(5, out=tmp_path / "full")
    assert sorted(path.name for path in (tmp_path / "full").iterdir()) == ["file"]


def test_what_the_shell_could_not_make_again_has_no_run_directory(tmp_path: Path) -> None:
    class Mine(LSH):
        """Somebody's own."""

    class Zero:
        def encode(self, histories: Any) -> Any:
            return np.zeros(len(histories), np.uint64)

    with pytest.raises(UserError, match=r"must be one of vast, lsh.*got Mine: use agent.save"):
        Mine(ID, preset="debug").learn(5, out=tmp_path / "run")
    with pytest.raises(UserError, match=r"the encoder of its config, got Zero: use agent.save"):
        LSH(ID, preset="debug", encoder=Zero()).learn(5, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_bins_have_a_run_directory_as_any_agent(tmp_path: Path) -> None:
    config = BinsConfig(scales=((0, -1.5, 1.5, 0.5), (1, -1.0, 1.0, 0.5)), resize=None)
    Bins(ID, config=config, seed=3).learn(50, out=tmp_path)
    vast("resume", tmp_path, "--steps", "80")
    whole = Bins(ID, config=config, seed=3).learn(80)
    assert identical(Bins.load(tmp_path, ID).state_dict(), whole.state_dict())


def test_a_callback_stops_it_and_it_is_saved_there(tmp_path: Path) -> None:
    agent = LSH(ID, preset="debug")
    agent.learn(100, out=tmp_path, callbacks=[Rows(stop_at=33)], progress=False)
    assert agent.steps == 33
    last = (tmp_path / "checkpoints.jsonl").read_text().splitlines()[-1]
    assert json.loads(last)["step"] == 33
    agent.learn(10)
    agent.learn(7, out=tmp_path, progress=False)
    assert [row["step"] for row in rows(tmp_path)] == [50]
    assert LSH.load(tmp_path, ID).steps == 50


@pytest.mark.slow
def test_a_maze_of_ones_own_is_copied_into_the_run(tmp_path: Path) -> None:
    file = tmp_path / "mine.maze"
    file.write_text(MAZE, encoding="utf-8")
    agent = LSH(gymnasium.make("vast/Maze-v0", wad=str(file)), preset="debug")
    agent.learn(20, out=tmp_path / "run", progress=False)
    file.unlink()
    assert read_config(tmp_path / "run").task == "mine.maze"
    vast("resume", tmp_path / "run", "--steps", "30")
