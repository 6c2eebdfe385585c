"""Reversing rewards, switching maps, and forced runs handed to an agent."""

from collections.abc import Iterator
from itertools import pairwise

import gymnasium
import numpy as np
import pytest

import vast  # noqa: F401  (registers the environments)
from vast.errors import UserError
from vast.experiments.interventions import (
    FORCED_RUNS,
    ForcedRun,
    ReverseRewards,
    SwitchMap,
)
from vast.training.protocol import Env, Experience


def nothing(step: Experience) -> None:
    raise AssertionError("the agent must not observe anything")


@pytest.fixture
def h_maze() -> Iterator[Env]:
    env = gymnasium.make("vast/HMaze-v0")
    yield env
    env.close()


@pytest.fixture
def t_maze() -> Iterator[Env]:
    env = gymnasium.make("vast/TMaze-v0")
    yield env
    env.close()


def test_rewards_are_reversed_and_back(h_maze: Env) -> None:
    def at_the_goal() -> float:
        h_maze.reset(seed=0, options={"start": (896, 520, 90)})
        for _ in range(4):
            _, reward, terminated, _, _ = h_maze.step(np.int64(0))
            if terminated:
                return float(reward)
        raise AssertionError("the goal was not reached")

    assert at_the_goal() == 1.0
    ReverseRewards().apply(h_maze, nothing)
    assert at_the_goal() == -1.0
    ReverseRewards().apply(h_maze, nothing)
    assert at_the_goal() == 1.0


def test_the_map_is_switched_at_the_next_episode(h_maze: Env) -> None:
    assert h_maze.reset(seed=0)[1]["map"] == "HOFF"
    SwitchMap("HON").apply(h_maze, nothing)
    assert h_maze.step(np.int64(0))[4]["map"] == "HOFF"
    assert h_maze.reset()[1]["map"] == "HON"


@pytest.mark.parametrize(
    ("name", "steps", "reward", "terminated", "end"),
    [
        ("t-maze", 20, -0.01, False, (-37, -414)),
        ("h-maze-rewarded", 47, 1.0, True, (891, 560)),
        ("h-maze-penalised", 64, -1.0, True, (881, -560)),
    ],
)
def test_the_forced_runs_go_where_the_figures_show(
    name: str, steps: int, reward: float, terminated: bool, end: tuple[int, int]
) -> None:
    env = gymnasium.make("vast/TMaze-v0" if name == "t-maze" else "vast/HMaze-v0")
    env.reset(seed=0)
    watched: list[Experience] = []
    FORCED_RUNS[name].apply(env, watched.append)
    assert len(watched) == steps
    assert [step.reward for step in watched[:-1]] == [-0.01] * (steps - 1)
    assert not any(step.terminated or step.truncated for step in watched[:-1])
    last = watched[-1]
    assert (last.reward, last.terminated, last.truncated) == (reward, terminated, False)
    assert last.next_pose is not None
    assert (round(last.next_pose[0]), round(last.next_pose[1])) == end
    assert watched[0].pose == pytest.approx(FORCED_RUNS[name].start)
    for step, following in pairwise(watched):
        assert step.next_pose == following.pose
        assert step.next_observation is following.observation
    assert env.reset()[1]["map"] != FORCED_RUNS[name].map_name
    env.close()


def test_the_h_maze_runs_go_through_the_teleporter(h_maze: Env) -> None:
    for name in ("h-maze-rewarded", "h-maze-penalised"):
        xs = [step.next_pose[0] for step in FORCED_RUNS[name].play(h_maze) if step.next_pose]
        jumps = np.abs(np.diff(xs))
        assert (jumps > 1500).sum() == 1
        assert jumps[jumps < 1500].max() < 67


def test_the_t_maze_run_begins_where_training_never_was(t_maze: Env) -> None:
    xs = [step.next_pose[0] for step in FORCED_RUNS["t-maze"].play(t_maze) if step.next_pose]
    assert xs[0] > 200
    assert xs[-1] < 64


def test_a_forced_run_is_the_same_every_time(h_maze: Env) -> None:
    run = FORCED_RUNS["h-maze-rewarded"]
    first, second = list(run.play(h_maze)), list(run.play(h_maze))
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a.next_observation, b.next_observation)
        assert a.next_pose == b.next_pose


def test_a_forced_run_that_ends_too_early_is_refused(t_maze: Env) -> None:
    run = ForcedRun("TBLOCK", (0, -520, 270), "FFFFFFFFF")
    with pytest.raises(UserError, match="must last 9 actions, but its episode ended after 2"):
        list(run.play(t_maze))


def test_worlds_without_maps_or_reversal_say_so() -> None:
    env = gymnasium.make("vast/TMaze2D-v0")
    with pytest.raises(UserError, match="no rewards that can be reversed"):
        ReverseRewards().apply(env, nothing)
    with pytest.raises(UserError, match="no maps"):
        SwitchMap("HON").apply(env, nothing)
