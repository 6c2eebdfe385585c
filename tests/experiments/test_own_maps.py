"""Mazes and WADs of the user's own belong to the run, and a text maze is a task."""

import hashlib
import json
import shutil
from contextlib import closing
from pathlib import Path

import pytest

from tests.experiments.conftest import Refused
from tests.experiments.sameness import assert_same, saved, vast
from vast.envs.doom.environment import DoomMaze
from vast.experiments.run_directory import read_config
from vast.tasks import make_env, task_named

DEBUG = ("--preset", "debug")
MAZE = """
room 0,0 512,128
zone goal 448,0 512,128
zone hazard 256,0 320,128
map ONE
start 64,64 facing east
map TWO
start 128,64 facing west
"""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a run in a maze of one's own, and the maze."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "mine.maze").write_text(MAZE)
    vast("train", folder / "mine.maze", *DEBUG, "--steps", "30", "--out", folder / "run")
    return folder


@pytest.fixture
def folder(whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return such a folder, to be spoilt, in which we are."""
    shutil.copytree(whole, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_text_maze_is_a_task_named_after_its_file_with_the_rules_of_a_maze() -> None:
    task = task_named("somewhere/mine.maze")
    assert (task.name, task.shape) == ("mine.maze", task_named("h-maze").shape)
    assert task.is_doom
    assert task.is_filmed


def test_its_environment_has_the_file_and_honours_its_hazards(folder: Path) -> None:
    with closing(make_env("mine.maze", map_name="TWO")) as env:
        world = env.unwrapped
        assert isinstance(world, DoomMaze)
        assert world.rules.living_reward == -0.01
        assert {area.kind for area in world.floor_plan().areas} == {"goal", "hazard"}


def test_a_run_has_a_copy_of_its_maze_and_its_hash(folder: Path) -> None:
    assert (folder / "run" / "maze.maze").read_text() == MAZE
    config = json.loads((folder / "run" / "config.json").read_text())["config"]
    assert config["task"] == "mine.maze"
    assert config["wad"] == "maze.maze"
    assert config["wad_sha256"] == hashlib.sha256(MAZE.encode()).hexdigest()
    assert saved(folder / "run")["/actor/settings/map_name"] == "ONE"


def test_without_a_directory_it_is_named_after_the_maze(folder: Path) -> None:
    vast("train", "mine.maze", *DEBUG, "--steps", "3")
    assert (folder / "runs" / "mine.maze-vast-debug-0" / "maze.maze").exists()


@pytest.mark.slow
def test_a_run_resumes_from_anywhere_whatever_became_of_the_original(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    vast("train", "mine.maze", *DEBUG, "--steps", "60", "--out", "never-stopped")
    (folder / "mine.maze").write_text("edited")
    vast("resume", "run", "--steps", "40")
    (folder / "mine.maze").unlink()
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    monkeypatch.chdir(elsewhere)
    (folder / "run").rename(elsewhere / "moved")
    vast("resume", "moved", "--steps", "60")
    assert_same(folder / "never-stopped", elsewhere / "moved")
    vast("eval", "moved", "--steps", "5")
    vast("play", "moved", "--out", "film.gif", "--steps", "2")
    vast("report", "moved")


@pytest.mark.slow
def test_the_config_of_such_a_run_gives_the_same_run(folder: Path) -> None:
    (folder / "mine.maze").unlink()
    vast("train", "--config", "run", "--out", "again")
    assert_same(folder / "run", folder / "again")
    assert (folder / "again" / "maze.maze").read_text() == MAZE
    assert read_config(Path("again")).wad == str(folder / "again" / "maze.maze")


def test_a_copy_that_was_edited_is_refused(refused: Refused, folder: Path) -> None:
    (folder / "run" / "maze.maze").write_text(MAZE + "map THREE\nstart 64,64 facing east\n")
    said = "run/maze.maze must be as it was when the run began, with SHA-256 "
    for words in (
        ("resume", "run", "--steps", "40"),
        ("eval", "run"),
        ("play", "run", "--out", "film.gif"),
        ("train", "--config", "run", "--out", "other"),
    ):
        assert said in refused(*words)
    (folder / "run" / "maze.maze").unlink()
    assert "cannot read the map file" in refused("resume", "run", "--steps", "40")


def test_the_same_maze_goes_on_with_the_run_and_another_is_refused(
    refused: Refused, folder: Path
) -> None:
    (folder / "mine.maze").rename(folder / "other.maze")
    words = ("--steps", "33", "--out", "run")
    assert "task is 'mine.maze' there, 'other.maze' here" in refused(
        "train", "other.maze", *DEBUG, *words
    )
    (folder / "there").mkdir()
    (folder / "there" / "mine.maze").write_text(MAZE + "# edited\n")
    assert "the directory holds another run: wad" in refused(
        "train", "there/mine.maze", *DEBUG, *words
    )
    (folder / "there" / "mine.maze").write_text(MAZE)
    vast("train", "there/mine.maze", *DEBUG, *words)
    assert saved(folder / "run")["/agent/steps"] == 33


def test_a_maze_that_cannot_be_is_refused_and_leaves_nothing(
    refused: Refused, folder: Path
) -> None:
    (folder / "bad.maze").write_text("rooom 0,0 1,1")
    out = ("--out", "new/run", *DEBUG)
    assert "none.maze: No such file or directory" in refused("train", "none.maze", *out)
    assert "bad.maze:1:1: unknown statement" in refused("train", "bad.maze", *out)
    line = refused("train", "mine.maze", "--map", "OEN", *out)
    assert "unknown map of mine.maze 'OEN'" in line
    assert "--wad must not be given with mine.maze, got 'bad.maze'" in refused(
        "train", "mine.maze", "--wad", "bad.maze", *out
    )


@pytest.mark.slow
def test_a_wad_for_the_rules_of_a_task_is_copied_as_well(folder: Path) -> None:
    vast("maze", "build", "mine.maze")
    words = ("--wad", "mine.wad", "--map", "TWO", *DEBUG)
    vast("train", "plus-maze", *words, "--steps", "20", "--out", "wad-run")
    copy = folder / "wad-run" / "map.wad"
    assert copy.read_bytes() == (folder / "mine.wad").read_bytes()
    (folder / "mine.wad").unlink()
    vast("resume", "wad-run", "--steps", "30")
    assert saved(folder / "wad-run")["/actor/settings/map_name"] == "TWO"


@pytest.mark.slow
def test_a_run_of_before_with_the_path_of_its_maze_resumes_as_it_did(folder: Path) -> None:
    config = json.loads((folder / "run" / "config.json").read_text())
    config["config"]["wad"] = "mine.maze"
    del config["config"]["wad_sha256"]
    (folder / "run" / "config.json").write_text(json.dumps(config))
    (folder / "run" / "maze.maze").unlink()
    vast("resume", "run", "--steps", "40")
    assert saved(folder / "run")["/agent/steps"] == 40
    assert json.loads((folder / "run" / "config.json").read_text())["config"]["wad"] == "mine.maze"
