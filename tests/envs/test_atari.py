"""Atari games: Pong as in the paper, others with usual settings."""

import hashlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import vast  # noqa: F401  (registers the environments)
from vast.envs.atari import MAX_FRAMES, Atari, area_weights, shrink
from vast.envs.pong import Pong
from vast.errors import UserError

STAY, UP, DOWN = (np.int64(action) for action in range(3))


def fingerprint(seed: int, sticky: float = 0.0, game: str | None = None) -> str:
    """Hash every observation, reward and info of a random game."""
    env: Atari = Pong(sticky=sticky) if game is None else Atari(game, sticky=sticky)
    digest = hashlib.sha256()
    rng = np.random.default_rng(0)
    observation, info = env.reset(seed=seed)
    for _ in range(200):
        digest.update(observation.tobytes() + repr(sorted(info.items())).encode())
        observation, reward, *_, info = env.step(rng.integers(3))
        digest.update(repr(reward).encode())
    return digest.hexdigest()


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("vast/Pong-v0", {}),
        pytest.param("vast/Atari-v0", {"game": "breakout"}, marks=pytest.mark.slow),
    ],
)
def test_it_is_a_proper_gymnasium_environment(name: str, options: dict[str, Any]) -> None:
    check_env(gymnasium.make(name, render_mode="rgb_array", **options).unwrapped)


@pytest.mark.slow
def test_pong_is_the_same_in_another_process_and_for_every_seed() -> None:
    elsewhere = subprocess.run(
        [sys.executable, "-c", "import test_atari as t; print(t.fingerprint(3))"],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=True,
    )
    assert elsewhere.stdout.strip() == fingerprint(3) == fingerprint(4)


@pytest.mark.slow
def test_sticky_actions_are_random_and_follow_the_seed() -> None:
    once = fingerprint(3, sticky=0.25)
    assert once == fingerprint(3, sticky=0.25)
    assert once != fingerprint(4, sticky=0.25)


@pytest.mark.slow
def test_other_games_begin_with_random_idle_frames() -> None:
    assert fingerprint(3, game="breakout") == fingerprint(3, game="breakout")
    assert fingerprint(3, game="breakout") != fingerprint(4, game="breakout")


def test_pong_shows_the_playing_field_at_full_contrast() -> None:
    env = Pong()
    env.reset(seed=0)
    for _ in range(20):
        observation, *_ = env.step(STAY)
    assert observation.shape == (84, 84, 1)
    assert (observation.min(), observation.max()) == (0, 255)
    # The field has one colour except for two paddles and the ball: no score, no border.
    values, counts = np.unique(observation, return_counts=True)
    assert counts.max() > 0.95 * observation.size
    assert values[counts.argmax()] < 128


def test_up_and_down_move_the_paddle_up_and_down() -> None:
    heights = {}
    for action in (UP, DOWN):
        env = Pong()
        env.reset(seed=0)
        for _ in range(15):
            observation, *_ = env.step(action)
        rows = np.nonzero(observation[:, 72:80, 0] > 100)[0]
        heights[int(action)] = rows.mean()
    assert heights[1] < 30
    assert heights[2] > 50


def test_a_lost_game_of_pong_has_21_points() -> None:
    env = Pong()
    env.reset(seed=0)
    rewards = []
    terminated = False
    while not terminated:
        _, reward, terminated, truncated, info = env.step(STAY)
        rewards.append(reward)
        assert not truncated
        assert info["score"] == sum(rewards)
        assert info["game_over"] == terminated
    assert sum(rewards) == -21
    assert set(rewards) == {0.0, -1.0}
    assert 4 * (len(rewards) - 1) < info["frame"] <= 4 * len(rewards)


def test_an_endless_game_is_truncated(monkeypatch: pytest.MonkeyPatch) -> None:
    assert MAX_FRAMES == 108_000
    monkeypatch.setattr("vast.envs.atari.MAX_FRAMES", 40)
    env = Pong()
    env.reset(seed=0)
    ends = [env.step(STAY)[2:4] for _ in range(10)]
    assert ends == [(False, False)] * 9 + [(False, True)]


def test_a_restored_game_continues_as_if_never_stopped() -> None:
    first, second = Pong(sticky=0.25), Pong(sticky=0.25)
    first.reset(seed=1)
    second.reset(seed=2)
    for _ in range(100):
        *_, info = first.step(UP)
    assert info["score"] < 0  # which is restored as well
    second.load_state_dict(first.state_dict())
    for _ in range(100):
        expected, got = first.step(DOWN), second.step(DOWN)
        np.testing.assert_array_equal(expected[0], got[0])
        assert expected[1:] == got[1:]


@pytest.mark.parametrize("height", [160, 210, 84, 100])
def test_scaling_takes_the_maximum_of_two_frames_and_averages_areas(height: int) -> None:
    frames = np.random.default_rng(0).integers(0, 256, (2, height, 160)).astype(np.uint8)
    # Every pixel is repeated 84 times in each direction, so that an output is a block of pixels.
    fine = frames.max(axis=0).repeat(84, axis=0).reshape(84, height, 160).mean(axis=1)
    fine = fine.repeat(84, axis=1).reshape(84, 84, 160).mean(axis=2)
    small = shrink(frames[0], frames[1], area_weights(height), area_weights(160))
    np.testing.assert_array_equal(small, np.floor(fine + 0.5 + 1e-9))


def test_rendering_is_in_colour_and_large() -> None:
    env = Pong(render_mode="rgb_array")
    env.reset(seed=0)
    picture = env.render()
    assert picture is not None
    assert picture.shape == (420, 320, 3)
    assert Pong().render() is None


def test_wrong_values_are_refused() -> None:
    with pytest.raises(UserError, match="did you mean 'pong'"):
        Atari("pongg")
    with pytest.raises(UserError, match=r"sticky must be .*, got 1\.5"):
        Pong(sticky=1.5)
    with pytest.raises(UserError, match="noop_max must be 0 or more, got -1"):
        Atari("breakout", noop_max=-1)
    with pytest.raises(UserError, match="unknown render mode 'human': must be one of rgb_array"):
        Pong(render_mode="human")
    env = Pong()
    env.reset(seed=0)
    with pytest.raises(UserError, match="action must be one of 0 stay, 1 up, 2 down, got"):
        env.step(np.int64(3))
