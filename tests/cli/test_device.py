"""`--device` at the command: what a user sees, and what is recorded."""

import json
from pathlib import Path

import pytest

from tests.experiments.sameness import assert_same, vast


def recorded(run: Path) -> str:
    device = json.loads((run / "config.json").read_text(encoding="utf-8"))["config"]["device"]
    assert isinstance(device, str)
    return device


@pytest.mark.parametrize(
    ("device", "said"),
    [
        ("cuda", "device must be one of cpu, auto here: this PyTorch has no CUDA, got 'cuda'"),
        ("gpu", "device must be one of cpu, cuda, mps, auto, got 'gpu'"),
    ],
)
def test_a_device_that_is_not_here_gets_one_line_and_changes_nothing(
    device: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    torch = pytest.importorskip("torch")
    if torch.version.cuda is not None or torch.backends.mps.is_available():
        pytest.skip("this machine has more devices")
    with pytest.raises(SystemExit) as stop:
        vast("train", "gym:CartPole-v1", "--device", device, "--out", tmp_path / "run")
    assert stop.value.code == 2
    assert capsys.readouterr().err == f"vast: {said}\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_the_device_is_recorded_as_chosen_and_a_run_may_change_it(tmp_path: Path) -> None:
    debug = ("train", "gym:CartPole-v1", "--preset", "debug", "--steps", "120")
    vast(*debug, "--device", "auto", "--out", tmp_path / "auto")
    assert recorded(tmp_path / "auto") == "auto"
    vast(*debug, "--steps", "60", "--out", tmp_path / "cpu")
    assert recorded(tmp_path / "cpu") == "cpu"
    vast("resume", tmp_path / "cpu", "--steps", "120", "--device", "auto")
    assert recorded(tmp_path / "cpu") == "auto"
    vast("train", *debug[1:], "--out", tmp_path / "cpu")  # the same run, on the processor again
    assert recorded(tmp_path / "cpu") == "cpu"
    assert_same(tmp_path / "auto", tmp_path / "cpu")


@pytest.mark.slow
def test_a_run_of_another_machine_is_looked_at_on_the_processor(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    vast("train", "gym:CartPole-v1", "--preset", "debug", "--steps", "60", "--out", run)
    config = run / "config.json"
    text = config.read_text(encoding="utf-8")
    config.write_text(text.replace('"device": "cpu"', '"device": "cuda:999"'), encoding="utf-8")
    capsys.readouterr()
    vast("eval", run, "--steps", "20")
    assert json.loads(capsys.readouterr().out)["steps"] == 20
    with pytest.raises(SystemExit) as stop:
        vast("resume", run, "--steps", "80")
    assert stop.value.code == 2
