"""What a user gets wrong is said in one line, with exit code 2, and changes no file."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.experiments.conftest import Refused, files_in
from tests.experiments.sameness import assert_same, saved, started, vast
from vast.errors import UserError
from vast.experiments.run_directory import read_probes

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


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("t-mace",), "unknown task 't-mace'.*did you mean 't-maze'"),
        ((), "vast train needs a TASK: one of t-maze"),
        (("t-maze", "--preset", "cpy"), "unknown preset 'cpy'.*did you mean 'cpu'"),
        (("t-maze", "--agent", "vats"), "unknown agent 'vats'.*did you mean 'vast'"),
        (("t-maze", "--modle.n-bits", "3"), "--modle.n-bits.*--model.n-bits"),
        (("t-maze", "--model.n-bits", "many"), "many"),
        (("t-maze", "--model.n-bits", "65"), "n_bits must be between 1 and 64, got 65"),
        (
            ("t-maze", "--replay.capacity", "3", "--model.history", "3"),
            "capacity must be at least 5 frames with a history of 3, got 3",
        ),
        (
            ("t-maze", "--replay.capacity", "1000000000000000"),
            "capacity must be at most 1099511627776, got 1000000000000000",
        ),
        (
            ("t-maze", "--replay.capacity", "1000000000000"),
            "the agent's capacity must fit into memory: Unable to allocate .* TiB",
        ),
        (
            ("t-maze-2d", "--agent", "mfec", "--capacity", "10" + "0" * 20),
            "capacity must be at most 1099511627776, got 10",
        ),
        (
            ("t-maze", "--planning.min-priority", "inf"),
            "min_priority must be finite and above 0, got inf",
        ),
        (("t-maze-2d", "--out", "x" * 300), "cannot use x*: File name too long"),
        (("t-maze-2d", "--config", "x" * 300), "cannot read x*: File name too long"),
        (("t-maze-2d", "--model.network.kind", "conv"), "kind must be 'mlp' for .*, got 'conv'"),
        (
            ("t-maze-2d", "--resize", "3", "3"),
            "resize must be None unless .*, got .3, 3.",
        ),
        (("t-maze", "--training.segment", "7"), "segment must be a divisor of batch.*got 7"),
        (("t-maze", "--planning.planner", "inlien"), "inlien.*inline"),
        (
            ("t-maze", "--planning.discount", "1"),
            "discount must be .* below 1, got 1.0",
        ),
        (("t-maze", "--exploration.final", "nan"), "final must be between 0 and 1, got nan"),
        (("t-maze", "--steps", "0"), "steps must be at least 1, got 0"),
        (("t-maze", "--steps", "ten"), "ten"),
        (("t-maze", "--seed", "-1"), "seed must be at least 0, got -1"),
        (("t-maze", "--threads", "0"), "threads must be between 1 and 1024, got 0"),
        (("t-maze", "--threads", "100000"), "threads must be between 1 and 1024, got 100000"),
        (("t-maze", "--loop.eval-every", "0"), "eval_every must be at least 1, got 0"),
        (
            ("t-maze", "--interventions", "reverse"),
            "must be one of STEP:reverse, .*got 'reverse'",
        ),
        (("t-maze", "--interventions", "5:run=t-mace"), "forced run 't-mace'.*did you mean"),
        (("t-maze", "--interventions", "5:map=TOPNE"), "'TOPNE'.*did you mean 'TOPEN'"),
        (("t-maze-2d", "--interventions", "5:reverse"), "no rewards that can be reversed"),
        (("t-maze-2d", "--interventions", "5:map=X"), "no maps to switch between"),
        (
            ("t-maze-2d", "--wad", "mine.wad"),
            "--map must be one of .*, got 't-maze-2d'",
        ),
        (("t-maze", "--wad", "none.wad"), "none.wad"),
        (("t-maze", "--agent", "lsh", "--plain"), "--plain requires the agent 'vast', got 'lsh'"),
        (
            ("t-maze", "--config", "none.json"),
            "none.json is not a run directory: there is no",
        ),
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
        assert "none is not a run directory: there is no none/config.json" in refused(verb, "none")
        assert "mine is not a run directory" in refused(verb, "mine")
    assert "mine is not a run directory" in refused("play", "mine", "--out", "film.mp4")
    for out in ("mine", "mine/thesis.tex"):
        line = refused("train", "t-maze-2d", *DEBUG, "--out", out)
        assert f"{out} is not empty and not a run directory" in line


def test_the_folder_of_another_run_is_refused(refused: Refused, run: Path) -> None:
    same = ("train", "t-maze-2d", *DEBUG, "--steps", "90", "--out", run)
    assert "task is 't-maze-2d' there, 't-maze' here" in refused("train", "t-maze", *same[2:])
    assert "seed is 0 there, 1 here" in refused(*same, "--seed", "1")
    line = refused(*same, "--model.n-bits", "3")
    assert "settings.model.n_bits is 16 there, 3 here; choose another --out" in line


def test_fewer_steps_than_were_taken_are_refused(refused: Refused, run: Path) -> None:
    assert "steps must be at least 60, where the run is already, got 30" in refused(
        "resume", run, "--steps", "30"
    )


def test_options_that_contradict_a_config_are_refused(refused: Refused, run: Path) -> None:
    given = ("--config", run / "config.json", "--out", "other")
    assert "task must be 't-maze-2d', as in --config, got 't-maze'" in refused(
        "train", "t-maze", *given
    )
    assert "--preset must not be given with --config" in refused("train", *given, *DEBUG)
    assert "--agent must not be given with --config" in refused("train", *given, "--agent=vast")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda c: c["config"]["settings"]["model"].update(n_bit=3), "did you mean 'n_bits'"),
        (
            lambda c: c["config"]["settings"]["model"].update(n_bits="3"),
            "n_bits must be int, got '3'",
        ),
        (
            lambda c: c["config"]["settings"]["model"].update(n_bits=99),
            "n_bits must be between 1 and 64, got 99",
        ),
        (lambda c: c["config"].update(taks="t-maze"), "did you mean 'task'"),
        (lambda c: c["config"].pop("task"), "config: task is missing"),
        (lambda c: c["config"].update(task="t-mace"), "unknown task 't-mace'"),
        (lambda c: c["config"].update(agent=None), "unknown agent 'None'"),
        (lambda c: c["config"].update(steps=2.5), "steps must be int, got 2.5"),
        (lambda c: c["config"].update(interventions=["x"]), "got 'x'"),
        (
            lambda c: c["config"]["settings"]["planning"].update(discount=10**400),
            "discount must be float, got 1000",
        ),
        (lambda c: c.update(config=[]), "config must be a dictionary of fields, got []"),
        (lambda c: c.update(format="soup"), "config.json belongs to something else"),
        (lambda c: c.update(version=3), "its format must be version 1 or 2, got 3"),
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
    assert "config.json is not JSON" in refused("resume", run)


def test_probes_that_are_nested_too_deeply_are_refused(run: Path) -> None:
    (run / "probes.json").write_text("[" * 200_000)
    with pytest.raises(UserError, match=r"probes.json: it is nested too deeply"):
        read_probes(run)


@pytest.mark.parametrize("depth", [500, 900, 100_000])
def test_a_config_that_is_nested_too_deeply_is_refused(
    refused: Refused, run: Path, depth: int
) -> None:
    content = json.loads((run / "config.json").read_text())
    content["config"]["steps"] = "HERE"
    text = json.dumps(content).replace('"HERE"', "[" * depth + "]" * depth)
    (run / "config.json").write_text(text)
    line = refused("resume", run)
    assert "nested too deeply" in line or "steps must be int" in line
    (run / "config.json").write_text("[" * depth + "]" * depth)
    assert "is not a run directory" in refused("resume", run)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (
            '{"step": 70, "eval/mean_return": "high"}',
            "eval/mean_return must be a finite number .* 'high'",
        ),
        (
            '{"step": 70, "wall_seconds": [1]}',
            "wall_seconds must be a finite number .*something else",
        ),
        ('{"step": 70, "table/states": true}', "table/states must be a finite number .*got True"),
        ('{"step": 70, "table/states": 1e999}', "table/states must be a finite number"),
        ('{"step": 1' + "0" * 400 + "}", "step must be a finite number"),
        ('{"step": "70"}', "this is not a row of metrics"),
        (
            '{"step": 70, "x": ' + "[" * 100_000 + "]" * 100_000 + "}",
            "this is not a row of metrics",
        ),
    ],
)
def test_metrics_that_are_no_numbers_are_refused(
    refused: Refused, run: Path, row: str, said: str
) -> None:
    with (run / "metrics.jsonl").open("a") as file:
        file.write(row + "\n")
    line = refused("report", run)
    assert re.search(f"metrics.jsonl, line 2: {said}", line)


def test_a_report_leaves_out_metrics_that_are_null(run: Path) -> None:
    names = ("wall_seconds", "eval/mean_return", "eval/episodes", "train/mean_return")
    rows = [{"step": step, **dict.fromkeys(names)} for step in (70, 80)]
    rows += [{"step": 90, "eval/mean_return": 1e99}, {"step": 100, "eval/mean_return": -1e308}]
    with (run / "metrics.jsonl").open("a") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    vast("report", run)
    assert (run / "report.html").exists()


def test_a_checkpoint_cut_short_or_damaged_is_refused(refused: Refused, run: Path) -> None:
    (state,) = (run / "checkpoint").glob("state-*")
    content = state.read_bytes()
    state.write_bytes(content[:-100])
    for words in (("resume", run, "--steps", "90"), ("eval", run)):
        assert "bytes, got" in refused(*words)
    state.write_bytes(content[:2000] + bytes(500) + content[2500:])
    assert str(run / "checkpoint") in refused("resume", run, "--steps", "90")
    state.unlink()
    assert "is missing" in refused("resume", run, "--steps", "90")


def test_a_checkpoint_of_another_run_is_refused(
    refused: Refused, run: Path, tmp_path: Path
) -> None:
    words = ("--steps", "60", "--out", tmp_path / "other")
    for other, said in (
        (("t-maze-2d", "--seed", "1"), "seed is 1 there, 0 here"),
        (("t-maze-2d", "--model.n-bits", "3"), "config.model.n_bits is 3 there, 16 here"),
    ):
        vast("train", *other, *DEBUG, *words)
        shutil.rmtree(run / "checkpoint")
        (tmp_path / "other" / "checkpoint").rename(run / "checkpoint")
        shutil.rmtree(tmp_path / "other")
        for verb in (("resume", run, "--steps", "90"), ("eval", run)):
            assert said in refused(*verb)


def test_a_checkpoint_whose_metrics_were_lost_is_refused(refused: Refused, run: Path) -> None:
    (run / "metrics.jsonl").write_text("")
    assert "as its checkpoint says, got 0" in refused("resume", run, "--steps", "90")


def test_what_a_refused_resume_finds_stays_as_it_is(refused: Refused, run: Path) -> None:
    with (run / "metrics.jsonl").open("a") as file:
        file.write('{"step": 70, "wall_seconds": 1.0}\n{"step": 80, "wa')
    assert "steps must be at least 60" in refused("resume", run, "--steps", "30")
    (run / "metrics.jsonl").unlink()
    assert "as its checkpoint says, got 0" in refused("resume", run, "--steps", "90")


def test_a_run_whose_checkpoint_is_gone_is_not_overwritten(refused: Refused, run: Path) -> None:
    shutil.rmtree(run / "checkpoint")
    line = refused("resume", run)
    assert f"{run} cannot be resumed: its checkpoint is gone; to start over: vast train" in line
    for words in (("t-maze-2d", *DEBUG, "--steps", "60"), ("--config", run)):
        line = refused("train", *words, "--out", run)
        assert f"the checkpoint of {run} is gone: remove the directory to start over" in line


def test_a_run_that_was_never_saved_starts_over_only_if_asked_to(
    refused: Refused, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was killed in its first minute: there are a config and perhaps rows, nothing else."""
    whole = Path(shutil.copytree(run, tmp_path / "whole"))
    shutil.rmtree(run / "checkpoint")
    (run / "checkpoints.jsonl").unlink()
    line = refused("resume", run)
    assert f"it was never saved; to start over: vast train --config {run} --out {run}\n" in line
    vast("train", "--config", run, "--out", run)
    assert "before it was ever saved: starting from step 0" in capsys.readouterr().out
    assert_same(run, whole)


def test_a_run_that_was_never_saved_cannot_be_looked_at(refused: Refused, run: Path) -> None:
    shutil.rmtree(run / "checkpoint")
    assert "is not a checkpoint" in refused("eval", run)
    assert "is not a checkpoint" in refused("play", run, "--out", "film.mp4")


def test_films_that_cannot_be_are_refused(refused: Refused, run: Path) -> None:
    assert "a video must end in .mp4 or .gif, got film.avi" in refused(
        "play", run, "--out", "film.avi"
    )
    assert "steps must be at least 1, got 0" in refused(
        "play", run, "--out", "film.mp4", "--steps", "0"
    )
    assert "a task to film must be one of" in refused("play", run, "--out", "film.mp4")
    assert "steps must be at least 1, got 0" in refused("eval", run, "--steps", "0")


def test_a_seed_may_be_any_number(tmp_path: Path) -> None:
    seed = str(2**70 + 1)
    vast("train", "t-maze-2d", *DEBUG, "--steps", "3", "--seed", seed, "--out", tmp_path / "run")
    vast("resume", tmp_path / "run", "--steps", "5")
    assert saved(tmp_path / "run")["/agent/steps"] == 5


LITTLE_ROOM = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY))
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["film.mp4", "film.gif"])
def test_a_film_that_does_not_fit_on_the_disk_is_refused_and_removed(
    name: str, tmp_path: Path
) -> None:
    vast("train", "gym:CartPole-v1", *DEBUG, "--steps", "3", "--out", tmp_path / "run")
    before = files_in(tmp_path)
    # SDL, which draws the pole, complains about our environment otherwise.
    setup = "import os; os.environ['XDG_RUNTIME_DIR'] = '/tmp'"
    setup += LITTLE_ROOM.replace("20_000", "1000")
    process = started("play", tmp_path / "run", "--out", tmp_path / name, setup=setup)
    out, error = process.communicate()
    assert process.returncode == 2
    assert out == ""
    assert error.startswith(f"vast: cannot write {tmp_path / name}: ")
    assert error.count("\n") == 1
    assert files_in(tmp_path) == before


@pytest.mark.slow
def test_a_full_disk_leaves_the_previous_checkpoint(run: Path, tmp_path: Path) -> None:
    whole = Path(shutil.copytree(run, tmp_path / "whole"))
    before = files_in(run / "checkpoint")
    process = started("resume", run, "--steps", "120", setup=LITTLE_ROOM)
    _, error = process.communicate()
    assert process.returncode == 2
    assert error == (
        f"vast: cannot write {run / 'checkpoint'}: File too large; "
        "the previous checkpoint is intact\n"
    )
    assert files_in(run / "checkpoint") == before
    for folder in (run, whole):
        vast("resume", folder, "--steps", "130")
    assert_same(run, whole)
