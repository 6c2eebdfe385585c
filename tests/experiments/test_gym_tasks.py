"""`vast train gym:ENV_ID`: any registered Gymnasium environment is a task."""

import re
from pathlib import Path

import pytest

from tests.experiments.sameness import assert_same, rows, vast
from vast.training.metrics import read_metrics

CARTPOLE = ("train", "gym:CartPole-v1", "--preset", "debug")


@pytest.mark.slow
def test_a_run_in_any_environment_trains_resumes_tests_and_reports(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    vast(*CARTPOLE, "--steps", "230", "--out", tmp_path / "whole")
    vast(*CARTPOLE, "--steps", "130", "--out", tmp_path / "run")
    vast("resume", tmp_path / "run", "--steps", "230")
    assert_same(tmp_path / "whole", tmp_path / "run")
    assert rows(tmp_path / "run")[-1]["train/reward_per_step"] == 1.0
    vast("eval", tmp_path / "run", "--steps", "50")
    assert '"eval/reward_per_step": 1.0' in capsys.readouterr().out
    vast("report", tmp_path / "run")
    assert (tmp_path / "run" / "report.html").exists()


@pytest.mark.slow
@pytest.mark.parametrize("agent", ["lsh", "mfec", "nec", "ddqn"])
def test_every_agent_trains_there(agent: str, tmp_path: Path) -> None:
    vast(*CARTPOLE, "--agent", agent, "--out", tmp_path / "run")
    assert read_metrics(tmp_path / "run" / "metrics.jsonl")[-1]["step"] == 400


def test_without_a_directory_it_is_named_after_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    vast(*CARTPOLE, "--steps", "3")
    assert (tmp_path / "runs" / "gym-CartPole-v1-vast-debug-0" / "config.json").exists()


@pytest.mark.parametrize(
    ("task", "said"),
    [
        ("gym:CartPole-v99", "unknown environment .CartPole-v99.*did you mean .CartPole-v1"),
        ("gym:Nothing", "unknown environment .Nothing.: must be the id of a registered"),
        ("gym:vast/TMaze-v0", "task must be 't-maze', which has its own presets"),
        ("gym:Pendulum-v1", "the action space must be Discrete"),
        ("gym:FrozenLake-v1", "observations of FrozenLake-v1 must be images or vectors"),
    ],
)
def test_what_no_agent_can_act_in_is_refused_in_one_line(
    task: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        vast("train", task, "--preset", "debug", "--out", tmp_path / "run")
    assert stop.value.code == 2
    error = capsys.readouterr().err
    assert re.search(said, error)
    assert error.count("\n") == 1
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_an_episode_is_filmed(tmp_path: Path) -> None:
    vast(*CARTPOLE, "--steps", "10", "--out", tmp_path / "run")
    vast("play", tmp_path / "run", "--out", tmp_path / "episode.gif", "--steps", "3")
    assert (tmp_path / "episode.gif").stat().st_size > 1000
