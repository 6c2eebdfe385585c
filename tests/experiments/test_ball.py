"""What codes tell of the ball in Pong: all of it, or no more than guessing."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.experiments.sameness import vast
from vast.agents.bins import Bins, BinsConfig
from vast.agents.config import TableConfig
from vast.agents.table import TableAgent
from vast.envs.pong import VALUES, PongRAM
from vast.errors import UserError
from vast.experiments.probes import run_probes
from vast.experiments.probes.ball import NOISE, PLACES, Play, told, watch
from vast.experiments.run_directory import read_probes

STEPS = 1500


class OneState:
    """Encodes everything alike."""

    n_bits = 1

    def encode(self, histories: NDArray[Any]) -> NDArray[np.uint64]:
        return np.zeros(len(histories), np.uint64)


def probed(agent: TableAgent) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return told(watch(agent, PongRAM(), rng, STEPS), rng)


@pytest.mark.parametrize("name", PLACES)
def test_fine_bins_tell_what_they_bin(name: str) -> None:
    bins = BinsConfig(scales=((VALUES.index(name), 32.0, 206.0, 3.0),))
    found = probed(Bins(PongRAM(), config=bins))
    assert found["error"][name] < 1
    assert found["error_of_guessing"][name] > 20
    assert found["frames_of_known_states"] > 0.95


def test_the_sign_of_a_speed_is_told_by_bins_of_it() -> None:
    column = VALUES.index("speed_x")
    found = probed(Bins(PongRAM(), config=BinsConfig(scales=((column, -1.0, 1.0, 1.5),))))
    assert found["right_signs"]["speed_x"] == 1
    assert found["right_signs_by_guessing"]["speed_x"] < 0.7
    assert found["states"] == 2


def test_a_constant_code_tells_no_more_than_guessing() -> None:
    found = probed(TableAgent(PongRAM(), config=TableConfig(), encoder=OneState()))
    assert found["error"] == found["error_of_guessing"]
    assert found["right_signs"] == found["right_signs_by_guessing"]
    assert (found["states"], found["neighbours"]) == (1, None)


def test_near_bins_mean_near_balls_and_hashed_ones_do_not() -> None:
    scales = ((0, 44.0, 204.0, 8.0), (1, 40.0, 208.0, 8.0))
    near = probed(Bins(PongRAM(), config=BinsConfig(scales=scales)))["neighbours"]
    hashed = probed(Bins(PongRAM(), config=BinsConfig(scales=scales, hashed=True)))["neighbours"]
    assert near["distance"] < 0.2 * near["distance_of_any"]
    assert hashed["distance"] > 0.8 * hashed["distance_of_any"]
    assert near["bits"] < 2 < hashed["bits"]


def test_a_new_state_means_what_the_nearest_ones_do() -> None:
    # Two states in the first half; the second half has a third one, nearer to the first of them.
    truth = np.array([[10, 50, 0, 1, -1], [90, 70, 0, -1, 1]] * 2 + [[14, 50, 0, 1, -1]] * 4, float)
    states = np.array([0b0000, 0b1111] * 2 + [0b0001] * 4, np.uint64)
    found = told(Play(truth, states), np.random.default_rng(0))
    assert found["frames_of_known_states"] == 0
    assert (found["error"]["ball_x"], found["error"]["ball_y"]) == (4, 0)
    assert found["error_of_guessing"]["ball_x"] == 50 - 14
    assert found["right_signs"] == {"speed_x": 1, "speed_y": 1}


@pytest.mark.slow
def test_it_is_a_probe_of_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vast.experiments.probes.ball.STEPS", 300)
    vast("train", "pong", "--preset", "debug", "--out", tmp_path / "run")
    run_probes(tmp_path / "run", ["ball"])
    found = read_probes(tmp_path / "run")["ball"]
    assert found["noise"] == NOISE
    assert found["table"]["states"] > 0
    vast("train", "t-maze-2d", "--preset", "debug", "--steps", "50", "--out", tmp_path / "maze")
    with pytest.raises(UserError, match="the run must be in Pong, got t-maze-2d"):
        run_probes(tmp_path / "maze", ["ball"])
