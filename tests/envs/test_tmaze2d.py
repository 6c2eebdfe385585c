"""The continuous T-maze of Fig. 1A."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given
from hypothesis import strategies as st

import vast  # noqa: F401  (registers the environments)
from vast.envs.tmaze2d import GOAL_Y, STEP, TMaze2D, inside
from vast.errors import UserError

EAST, NORTH, WEST, SOUTH = (np.int64(a) for a in range(4))


def test_it_is_a_proper_gymnasium_environment() -> None:
    check_env(gymnasium.make("vast/TMaze2D-v0").unwrapped)


def test_a_step_has_a_fixed_size_and_a_direction() -> None:
    env = TMaze2D()
    for action, (dx, dy) in zip(
        (EAST, NORTH, WEST, SOUTH), ((1, 0), (0, 1), (-1, 0), (0, -1)), strict=True
    ):
        env.reset(options={"start": (0.1, 0.2)})
        observation, reward, terminated, truncated, info = env.step(action)
        np.testing.assert_allclose(observation, (0.1 + STEP * dx, 0.2 + STEP * dy), rtol=1e-6)
        assert (reward, terminated, truncated, info["event"]) == (0.0, False, False, None)
        assert (info["x"], info["y"]) == pytest.approx((0.1 + STEP * dx, 0.2 + STEP * dy))


def test_a_step_into_a_wall_rebounds_by_the_part_that_does_not_fit() -> None:
    env = TMaze2D()
    env.reset(options={"start": (5.3, 0.0)})
    assert env.step(EAST)[0][0] == pytest.approx(5.5 - (5.3 + STEP - 5.5))
    env.reset(options={"start": (0.0, 1.2)})
    assert env.step(NORTH)[0][1] == pytest.approx(1.5 - (1.2 + STEP - 1.5))
    env.reset(options={"start": (-1.3, -4.0)})
    assert env.step(WEST)[0][0] == pytest.approx(-1.5 + (1.5 - 1.3 + STEP - 0.4))


def test_the_bottom_of_the_stem_ends_the_episode_with_a_reward() -> None:
    env = TMaze2D()
    env.reset(options={"start": (0.0, GOAL_Y + STEP / 2)})
    _, reward, terminated, _, info = env.step(SOUTH)
    assert (reward, terminated, info["event"]) == (1.0, True, "goal")


@given(seed=st.integers(0, 2**32 - 1), actions=st.lists(st.integers(0, 3), max_size=60))
def test_no_walk_leaves_the_maze_and_a_seed_repeats_it(seed: int, actions: list[int]) -> None:
    first, second = TMaze2D(), TMaze2D()
    assert inside(*first.reset(seed=seed)[0].astype(float))
    second.reset(seed=seed)
    for action in actions:
        here, reward, terminated, *_ = first.step(np.int64(action))
        again, *_ = second.step(np.int64(action))
        assert first.observation_space.contains(here)
        assert inside(*here.astype(float))
        assert terminated == (here[1] < GOAL_Y) == (reward == 1.0)
        np.testing.assert_array_equal(here, again)
        if terminated:
            break


def test_a_restored_state_continues_as_if_never_stopped() -> None:
    first, second = TMaze2D(), TMaze2D()
    first.reset(seed=1)
    first.step(EAST)
    second.reset(seed=2)
    second.load_state_dict(first.state_dict())
    for action in (NORTH, WEST, SOUTH):
        np.testing.assert_array_equal(first.step(action)[0], second.step(action)[0])
    np.testing.assert_array_equal(first.reset()[0], second.reset()[0])


def test_starts_differ_between_seeds() -> None:
    starts = {tuple(TMaze2D().reset(seed=seed)[0]) for seed in range(20)}
    assert len(starts) == 20


@pytest.mark.parametrize("start", [(4.0, -4.0), (0.0, -9.0), (1.0,), (np.nan, 0.0)])
def test_a_start_outside_the_maze_is_refused(start: tuple[float, ...]) -> None:
    with pytest.raises(UserError, match="start must be"):
        TMaze2D().reset(options={"start": start})


def test_an_unknown_action_is_refused() -> None:
    env = TMaze2D()
    env.reset(seed=0)
    with pytest.raises(UserError, match="action must be 0 east"):
        env.step(np.int64(4))


def test_an_unknown_reset_option_is_refused() -> None:
    with pytest.raises(UserError, match="did you mean 'start'"):
        TMaze2D().reset(options={"strat": (0.0, 0.0)})


def test_the_floor_plan_encloses_every_position_and_its_goal_ends_episodes() -> None:
    env = TMaze2D()
    plan = env.floor_plan()
    assert all(inside(x, y) for ax, ay, bx, by in plan.walls for x, y in ((ax, ay), (bx, by)))
    assert plan.walls[0][:2] == plan.walls[-1][2:]
    (goal,) = plan.areas
    env.reset(seed=0, options={"start": (0.0, -8.0)})
    assert not goal.contains(0.0, -8.0)
    *_, info = env.step(np.int64(3))
    assert info["event"] == "goal"
    assert goal.contains(info["x"], info["y"])
