"""What Pong says about its ball and its paddles is what its screen shows."""

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from numpy.typing import NDArray

import vast  # noqa: F401  (registers the environments)
from vast.envs.pong import VALUES, Pong, PongRAM

BALL, OWN, ENEMY = (236, 236, 236), (92, 186, 92), (213, 130, 74)
"""colours"""
LEFT, TOP = 49, 14
"""pixels by which positions in the memory differ from those on the screen"""


def corner(screen: NDArray[Any], colour: tuple[int, ...]) -> tuple[int, int] | None:
    """Return the first column and row of a colour in the playing field, None if it is not there."""
    rows, columns = np.nonzero((screen[34:194] == colour).all(axis=-1))
    return (int(columns.min()), 34 + int(rows.min())) if len(rows) else None


def actions(seed: int, steps: int) -> list[np.int64]:
    return [np.int64(a) for a in np.random.default_rng(seed).integers(3, size=steps).repeat(3)]


def test_ball_and_paddles_are_where_the_screen_shows_them() -> None:
    env = Pong(render_mode="rgb_array")
    env.reset(seed=0)
    seen = 0
    for action in actions(0, 150):
        *_, info = env.step(action)
        screen = env.render()
        assert screen is not None
        screen = screen[::2, ::2]
        ball = corner(screen, BALL)
        # At the edges a part of a ball or paddle is outside.
        if ball is not None and ball[1] > 34:
            seen += 1
            assert info["ball_x"] - LEFT == ball[0]
            assert info["ball_y"] - TOP == pytest.approx(ball[1], abs=1)
        for name, colour in (("paddle", OWN), ("enemy", ENEMY)):
            paddle = corner(screen, colour)
            if paddle is not None and 34 < paddle[1] < 175:
                assert info[name] - TOP == pytest.approx(paddle[1], abs=2)
    assert seen > 200


def test_the_speed_is_where_the_ball_goes() -> None:
    env = Pong()
    _, info = env.reset(seed=0)
    agreed = []
    for action in actions(1, 150):
        before = info
        *_, info = env.step(action)
        moved = [info[f"ball_{axis}"] - before[f"ball_{axis}"] for axis in "xy"]
        speed = [before[f"speed_{axis}"] for axis in "xy"]
        if before["ball_y"] and info["ball_y"]:
            agreed.append(np.sign(moved) == np.sign(speed))
    # Except where it bounces within the step.
    assert (np.mean(agreed, axis=0) > 0.9).all()


def test_the_vector_is_the_same_game_as_the_image() -> None:
    env, seen = PongRAM(), Pong()
    vector, info = env.reset(seed=0)
    assert info == seen.reset(seed=0)[1]
    for action in actions(2, 60):
        before = info
        vector, reward, *ended, info = env.step(action)
        _, same_reward, *same_end, same_info = seen.step(action)
        assert (reward, ended, info) == (same_reward, same_end, same_info)
        values = dict(zip(VALUES, vector.tolist(), strict=True))
        assert values.pop("offset") == info["ball_y"] - info["paddle"]
        assert values.pop("moved") == info["paddle"] - before["paddle"]
        assert values == {name: info[name] for name in values}


def test_the_vector_is_a_proper_gymnasium_environment() -> None:
    check_env(gymnasium.make("vast/PongRAM-v0", render_mode="rgb_array").unwrapped)
