"""What a user gets wrong is said in one line, with exit code 2, and changes no file."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.experiments.sameness import assert_same, saved, started, vast

DEBUG = ("--preset", "debug")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "run"
    vast("train", "t-maze-2d", *DEBUG, "--steps", "60", "--out", folder)
    return folder


@pytest.fixture
def run(whole: Path, tmp_path: Path) -> Path:
    """Return a run of one's own, to be spoilt."""
    return Path(shutil.copytree(whole, tmp_path / "run"))


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


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("t-mace",), "unknown task 't-mace'.*did you mean 't-maze'"),
        ((), "Missing from vast train: TASK; allowed are t-maze"),
        (("t-maze", "--preset", "cpy"), "unknown preset 'cpy'.*did you mean 'cpu'"),
        (("t-maze", "--agent", "vats"), "unknown agent 'vats'.*did you mean 'vast'"),
        (("t-maze", "--modle.n-bits", "3"), "--modle.n-bits.*--model.n-bits"),
        (("t-maze", "--model.n-bits", "many"), "many"),
        (("t-maze", "--model.n-bits", "65"), "n_bits 65: allowed is 1 to 64"),
        (
            ("t-maze", "--replay.capacity", "3", "--model.history", "3"),
            "capacity 3: allowed is 5 or more frames with a history of 3",
        ),
        (("t-maze-2d", "--model.network.kind", "conv"), "kind 'conv'.*: allowed is 'mlp'"),
        (("t-maze-2d", "--resize", "3", "3"), "resize .3, 3.: allowed only for images"),
        (("t-maze", "--training.segment", "7"), "segment 7: allowed are divisors"),
        (("t-maze", "--planning.planner", "inlien"), "inlien.*inline"),
        (("t-maze", "--planning.discount", "1"), "discount 1.0: allowed is 0 to below 1"),
        (("t-maze", "--exploration.final", "nan"), "epsilon final nan: allowed is 0 to 1"),
        (("t-maze", "--steps", "0"), "steps 0: allowed is 1 or more"),
        (("t-maze", "--steps", "ten"), "ten"),
        (("t-maze", "--seed", "-1"), "seed -1: allowed is 0 or more"),
        (("t-maze", "--threads", "0"), "threads 0: allowed is 1 or more"),
        (("t-maze", "--loop.eval-every", "0"), "eval_every 0: allowed is 1 or more"),
        (("t-maze", "--interventions", "reverse"), "intervention 'reverse': allowed are STEP:rev"),
        (("t-maze", "--interventions", "5:run=t-mace"), "forced run 't-mace'.*did you mean"),
        (("t-maze", "--interventions", "5:map=TOPNE"), "'TOPNE'.*did you mean 'TOPEN'"),
        (("t-maze-2d", "--interventions", "5:reverse"), "no rewards that can be reversed"),
        (("t-maze-2d", "--interventions", "5:map=X"), "no maps to switch between"),
        (("t-maze-2d", "--wad", "mine.wad"), "--wad or --map with task 't-maze-2d'"),
        (("t-maze", "--wad", "none.wad"), "none.wad"),
        (("t-maze", "--config", "none.json"), "none.json is no run: there is no none.json"),
    ],
)
def test_a_run_that_cannot_be_is_refused(
    refused: Refused, words: tuple[str, ...], said: str
) -> None:
    preset = () if "--preset" in words or "--config" in words else DEBUG
    assert re.search(said, refused("train", *words, *preset))


def test_a_folder_that_is_no_run_is_refused(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("")
    for verb in ("resume", "eval"):
        assert "none is no run: there is no none/config.json" in refused(verb, "none")
        assert "mine is no run" in refused(verb, "mine")
    assert "mine is no run" in refused("play", "mine", "--out", "film.mp4")
    for out in ("mine", "mine/thesis.tex"):
        line = refused("train", "t-maze-2d", *DEBUG, "--out", out)
        assert f"{out} is not empty and no run" in line


def test_the_folder_of_another_run_is_refused(refused: Refused, run: Path) -> None:
    same = ("train", "t-maze-2d", *DEBUG, "--steps", "90", "--out", run)
    assert "task is 't-maze-2d' there and 't-maze' here" in refused("train", "t-maze", *same[2:])
    assert "seed is 0 there and 1 here" in refused(*same, "--seed", "1")
    line = refused(*same, "--model.n-bits", "3")
    assert "settings.model.n_bits is 16 there and 3 here; choose another --out" in line


def test_fewer_steps_than_were_taken_are_refused(refused: Refused, run: Path) -> None:
    assert "steps 30: the run is at step 60 already" in refused("resume", run, "--steps", "30")


def test_options_that_contradict_a_config_are_refused(refused: Refused, run: Path) -> None:
    given = ("--config", run / "config.json", "--out", "other")
    assert "task 't-maze' with the config of a run on 't-maze-2d'" in refused(
        "train", "t-maze", *given
    )
    assert "--preset with --config" in refused("train", *given, *DEBUG)
    assert "--agent with --config" in refused("train", *given, "--agent=vast")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda c: c["config"]["settings"]["model"].update(n_bit=3), "did you mean 'n_bits'"),
        (
            lambda c: c["config"]["settings"]["model"].update(n_bits="3"),
            "n_bits '3': allowed is int",
        ),
        (lambda c: c["config"]["settings"]["model"].update(n_bits=99), "n_bits 99"),
        (lambda c: c["config"].update(taks="t-maze"), "did you mean 'task'"),
        (lambda c: c["config"].pop("task"), "config: task is missing"),
        (lambda c: c["config"].update(task="t-mace"), "unknown task 't-mace'"),
        (lambda c: c["config"].update(agent=None), "unknown agent 'None'"),
        (lambda c: c["config"].update(steps=2.5), "steps 2.5: allowed is int"),
        (lambda c: c["config"].update(interventions=["x"]), "intervention 'x'"),
        (lambda c: c.update(config=[]), "config []: allowed is a dictionary"),
        (lambda c: c.update(format="soup"), "config.json is of something else"),
        (lambda c: c.update(version=2), "its format is version 2, allowed is 1"),
    ],
)
def test_a_config_edited_wrongly_is_refused(
    refused: Refused, run: Path, change: Callable[[dict[str, Any]], Any], said: str
) -> None:
    content = json.loads((run / "config.json").read_text())
    change(content)
    (run / "config.json").write_text(json.dumps(content))
    assert said in refused("resume", run)
    assert said in refused("train", "--config", run / "config.json", "--out", "other")


def test_a_config_that_is_cut_short_is_refused(refused: Refused, run: Path) -> None:
    text = (run / "config.json").read_text()
    (run / "config.json").write_text(text[: len(text) // 2])
    assert "config.json is no JSON" in refused("resume", run)


def test_a_checkpoint_cut_short_or_damaged_is_refused(refused: Refused, run: Path) -> None:
    (state,) = (run / "checkpoint").glob("state-*")
    content = state.read_bytes()
    state.write_bytes(content[:-100])
    for words in (("resume", run, "--steps", "90"), ("eval", run)):
        assert "bytes, not" in refused(*words)
    state.write_bytes(content[:2000] + bytes(500) + content[2500:])
    assert str(run / "checkpoint") in refused("resume", run, "--steps", "90")
    state.unlink()
    assert "is missing" in refused("resume", run, "--steps", "90")


def test_a_checkpoint_of_another_run_is_refused(
    refused: Refused, run: Path, tmp_path: Path
) -> None:
    words = ("--steps", "60", "--out", tmp_path / "other")
    for other, said in (
        (("t-maze-2d", "--seed", "1"), "seed is 1 there and 0 here"),
        (("t-maze-2d", "--model.n-bits", "3"), "settings.model.n_bits is 3 there and 16 here"),
    ):
        vast("train", *other, *DEBUG, *words)
        shutil.rmtree(run / "checkpoint")
        (tmp_path / "other" / "checkpoint").rename(run / "checkpoint")
        shutil.rmtree(tmp_path / "other")
        for verb in (("resume", run, "--steps", "90"), ("eval", run)):
            assert said in refused(*verb)


def test_a_checkpoint_whose_metrics_were_lost_is_refused(refused: Refused, run: Path) -> None:
    (run / "metrics.jsonl").write_text("")
    assert "the checkpoint goes on from" in refused("resume", run, "--steps", "90")


def test_a_run_that_was_never_saved_cannot_be_looked_at(refused: Refused, run: Path) -> None:
    shutil.rmtree(run / "checkpoint")
    assert "no checkpoint" in refused("eval", run)
    assert "no checkpoint" in refused("play", run, "--out", "film.mp4")


def test_films_that_cannot_be_are_refused(refused: Refused, run: Path) -> None:
    assert "film.avi: allowed are the endings" in refused("play", run, "--out", "film.avi")
    assert "steps 0: allowed" in refused("play", run, "--out", "film.mp4", "--steps", "0")
    assert "cannot be filmed" in refused("play", run, "--out", "film.mp4")
    assert "steps 0: allowed" in refused("eval", run, "--steps", "0")


def test_a_seed_may_be_any_number(tmp_path: Path) -> None:
    seed = str(2**70 + 1)
    vast("train", "t-maze-2d", *DEBUG, "--steps", "3", "--seed", seed, "--out", tmp_path / "run")
    vast("resume", tmp_path / "run", "--steps", "5")
    assert saved(tmp_path / "run")["/loop/agent/steps"] == 5


LITTLE_ROOM = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY))
"""


@pytest.mark.slow
def test_a_full_disk_leaves_the_checkpoint_of_before(run: Path, tmp_path: Path) -> None:
    whole = Path(shutil.copytree(run, tmp_path / "whole"))
    before = files_in(run / "checkpoint")
    process = started("resume", run, "--steps", "120", setup=LITTLE_ROOM)
    _, error = process.communicate()
    assert process.returncode == 2
    assert error == (
        f"vast: cannot write {run / 'checkpoint'}: File too large; "
        "the checkpoint of before is intact\n"
    )
    assert files_in(run / "checkpoint") == before
    for folder in (run, whole):
        vast("resume", folder, "--steps", "130")
    assert_same(run, whole)
