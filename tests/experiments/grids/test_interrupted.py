"""A grid that was killed or interrupted ends as one that was left alone; a fork, as a whole run."""

import os
import shutil
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from tests.experiments.grids.worlds import (
    FORKED,
    VECTOR,
    assert_same_grids,
    grid_process,
    killed,
    trainer_of,
    wait_for_attempt,
    wait_for_save,
    written,
)
from tests.experiments.sameness import assert_same, rows, saved, vast
from vast.analysis.arms import read_runs
from vast.errors import UserError
from vast.experiments.forks import fork, reuse, unfinished_copy
from vast.experiments.grids.directory import attempts
from vast.experiments.publish import publish
from vast.experiments.results import (
    load_grid,
    load_published,
    load_runs,
    packed,
    published_names,
    unpacked,
)
from vast.experiments.run_directory import read_config, read_probes

pytestmark = pytest.mark.slow
UNFORKED = FORKED.partition("[forks]")[0].replace("forks = []", "").replace('probes = ["tree"]', "")


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a grid that nobody interrupted."""
    folder = tmp_path_factory.mktemp("grid")
    vast("grid", written(folder, FORKED), "--out", folder / "alone", "--workers", "2")
    return folder / "alone"


def test_a_grid_whose_worker_and_driver_were_killed_ends_as_one_left_alone(
    alone: Path, tmp_path: Path
) -> None:
    spec, out = written(tmp_path, FORKED), tmp_path / "killed"
    driver = grid_process(spec, out, "--workers", "2")
    first = out / "runs" / "plus-maze-vast-0"
    wait_for_save(driver, first)
    os.kill(trainer_of(first), signal.SIGKILL)
    wait_for_attempt(out)
    wait_for_save(driver, first, 50)
    killed(driver)
    vast("grid", out, "--workers", "2")
    assert_same_grids(alone, out)
    crashed = [entry for entry in attempts(out) if entry["outcome"] == "crashed"]
    assert [entry["run"] for entry in crashed] == ["plus-maze-vast-0"]
    assert crashed[0]["error"] == "killed by signal 9"


def test_an_interrupted_grid_saves_its_runs_and_goes_on_from_there(
    alone: Path, tmp_path: Path
) -> None:
    spec, out = written(tmp_path, FORKED), tmp_path / "interrupted"
    driver = grid_process(spec, out, "--workers", "1")
    run = out / "runs" / "plus-maze-vast-0"
    wait_for_save(driver, run)
    driver.send_signal(signal.SIGINT)
    said, error = driver.communicate()
    assert driver.returncode == 130, error
    assert said.splitlines()[-1] == f"interrupted and saved; to resume: vast grid {out}"
    assert not (run / "lock.json").exists()
    reached = saved(run)["/agent/steps"]
    assert [entry["outcome"] for entry in attempts(out)] == ["interrupted"]
    vast("grid", spec, "--out", out, "--workers", "2")
    entries = list(attempts(out))
    assert entries[0]["step"] == reached
    assert {entry["outcome"] for entry in entries[1:]} == {"done"}
    assert_same_grids(alone, out)


def test_jobs_of_slurm_do_the_same_grid_run_by_run(alone: Path, tmp_path: Path) -> None:
    spec, out = written(tmp_path, FORKED), tmp_path / "slurm"
    vast("grid", spec, "--out", out, "--slurm", tmp_path / "job.sh")
    for arm in ("plain", "vast"):
        vast("grid", out, "--run", f"plus-maze-{arm}-0")
    assert_same_grids(alone, out)
    vast("grid", spec, "--out", tmp_path / "b", "--slurm", tmp_path / "b.sh", "--reuse", out)
    assert {path.name for path in (tmp_path / "b" / "runs").iterdir()} == {
        path.name for path in (out / "runs").iterdir()
    }


def test_the_same_runs_of_another_grid_are_taken_over(
    alone: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = UNFORKED.replace("steps = 500", "steps = 350").replace("arms.plain", "arms.short")
    spec = written(tmp_path, text)
    capsys.readouterr()
    vast("grid", spec, "--out", tmp_path / "other", "--reuse", alone)
    said = capsys.readouterr().out.splitlines()
    assert said[:2] == ["plus-maze-vast-0: taken over", "plus-maze-short-0: taken over"]
    assert "2 of 2 runs done" in said[2]
    for here, there in (("short", "plain"), ("vast", "vast")):
        copy = tmp_path / "other" / "runs" / f"plus-maze-{here}-0"
        original = alone / "runs" / f"plus-maze-{there}-0"
        assert (copy / "config.json").read_bytes() == (original / "config.json").read_bytes()
        assert_same(copy, original)


def test_a_shorter_run_of_another_grid_is_the_beginning_of_a_longer_one(
    alone: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = written(tmp_path, UNFORKED)
    capsys.readouterr()
    vast("grid", spec, "--out", tmp_path / "longer", "--reuse", alone, "--dry-run")
    said = capsys.readouterr().out.splitlines()
    assert [line.strip() for line in said[1:3]] == [
        "2 runs, 1 of them finished",
        "150 environment steps to go",
    ]
    assert not (tmp_path / "longer").exists()
    vast("grid", spec, "--out", tmp_path / "longer", "--reuse", alone)
    said = capsys.readouterr().out.splitlines()
    # One of the forks is the whole run, which goes before its beginning.
    assert said[:2] == [
        "plus-maze-vast-0: taken over",
        "plus-maze-plain-0: taken over up to step 350",
    ]
    vast("grid", spec, "--out", tmp_path / "whole")
    for arm in ("vast", "plain"):
        name = Path("runs") / f"plus-maze-{arm}-0"
        assert_same(tmp_path / "longer" / name, tmp_path / "whole" / name)


def test_a_grid_with_fewer_steps_goes_on_as_the_whole_one_and_is_probed_anew(
    tmp_path: Path,
) -> None:
    text = VECTOR.replace("steps = 2000", "steps = 600").replace("[0, 1]", "[0]")
    spec, run = written(tmp_path, text), Path("runs") / "t-maze-2d-vast-0"
    vast("grid", spec, "--out", tmp_path / "first", "--steps", "300")
    first = read_probes(tmp_path / "first" / run)["tree"]
    vast("grid", spec, "--out", tmp_path / "first")
    vast("grid", spec, "--out", tmp_path / "whole")
    assert_same(tmp_path / "first" / run, tmp_path / "whole" / run)
    probes = [read_probes(tmp_path / out / run)["tree"] for out in ("first", "whole")]
    assert probes[0] == probes[1] != first


def test_a_fork_is_the_run_that_was_never_forked(alone: Path, tmp_path: Path) -> None:
    options = ("--preset", "debug", "--steps", "500", "--seed", "0")
    vast(
        *("train", "plus-maze", *options, "--interventions", "350:reverse"),
        *("--out", tmp_path / "whole"),
    )
    reversed_ = alone / "runs" / "plus-maze-vast-reversed-0"
    assert_same(tmp_path / "whole", reversed_)
    same = alone / "runs" / "plus-maze-vast-same-0"
    assert rows(same)[:7] == rows(reversed_)[:7]
    assert rows(same)[7:] != rows(reversed_)[7:]


def test_finished_runs_are_not_repeated(alone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {path: path.stat().st_mtime_ns for path in (alone / "runs").rglob("*")}
    vast("grid", alone)
    assert "4 of 4 runs done" in capsys.readouterr().out
    assert {path: path.stat().st_mtime_ns for path in (alone / "runs").rglob("*")} == before


def test_the_records_of_a_grid_are_its_metrics(alone: Path) -> None:
    records = load_grid(alone)
    assert len(records) == 4
    assert all(record.is_done for record in records)
    record = next(r for r in records if (r.arm, r.fork, r.seed) == ("vast", "reversed", 0))
    folder = alone / "runs" / "plus-maze-vast-reversed-0"
    assert (record.task, record.agent, record.steps) == ("plus-maze", "vast", 500)
    assert record.interventions == ("350:reverse",)
    assert {r.arm: r.config["settings"]["model"]["n_bits"] for r in records} == {
        "vast": 16,
        "plain": 12,
    }
    known = [row for row in rows(folder) if row.get("eval/reward_per_step") is not None]
    steps, rewards = record.curve("eval/reward_per_step")
    assert steps.tolist() == [row["step"] for row in known]
    assert rewards.tolist() == [row["eval/reward_per_step"] for row in known]
    assert {"train/free_energy", "table/revisited"} <= set(record.metrics)
    again = unpacked(packed(record))
    assert again.config == record.config
    for name, values in record.metrics.items():
        assert again.metrics[name] == pytest.approx(values, rel=1e-5, nan_ok=True)
    assert [r.arm for r in load_runs([folder])] == ["vast"]


def test_what_a_killed_copy_left_is_removed_and_never_a_run(alone: Path, tmp_path: Path) -> None:
    trained = alone / "runs" / "plus-maze-plain-0"
    here = tmp_path / "runs" / "again"
    left = unfinished_copy(here)
    shutil.copytree(trained, left)  # as complete as it can be without its name
    with pytest.raises(UserError, match="not a run directory"):
        read_runs([tmp_path])
    reuse(trained, here)
    assert not left.exists()
    assert [run.name for run in read_runs([tmp_path])] == ["again"]


def test_a_fork_must_continue_what_was_trained(alone: Path, tmp_path: Path) -> None:
    trained = alone / "runs" / "plus-maze-vast-0"
    config = read_config(trained)
    with pytest.raises(UserError, match="must begin with its interventions"):
        fork(trained, tmp_path / "fork", replace(config, steps=100))
    with pytest.raises(UserError, match="seed is 0 there, 7 here"):
        fork(trained, tmp_path / "fork", replace(config, seed=7))
    assert list(tmp_path.iterdir()) == []


def test_a_checkpoint_belongs_to_the_interventions_that_have_happened(
    alone: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A config that was edited after the fact would describe another run."""
    copy = tmp_path / "run"
    shutil.copytree(alone / "runs" / "plus-maze-vast-reversed-0", copy)
    config = copy / "config.json"
    config.write_text(config.read_text().replace("350:reverse", "340:reverse"))
    with pytest.raises(SystemExit):
        vast("resume", copy, "--steps", "510")
    assert "its interventions must be ['340:reverse'], got ['350:reverse']" in (
        capsys.readouterr().err
    )


def test_published_records_are_found_by_the_name_of_their_grid(
    alone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done, left = publish(alone, tmp_path)
    assert (len(done), left) == (4, [])
    monkeypatch.setattr("vast.experiments.results.published", lambda: tmp_path)
    assert published_names() == ["my-own"]
    found = {(r.arm, r.fork): r for r in load_published("my-own")}
    assert found.keys() == {(r.arm, r.fork) for r in load_grid(alone)}
    record = found["vast", "same"]
    assert record.versions["torch"]
    assert record.processor
    assert record.wall_seconds > 0
    with pytest.raises(UserError, match="did you mean 'my-own'"):
        load_published("my-ow")
