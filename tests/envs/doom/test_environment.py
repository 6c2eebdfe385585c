"""The Doom mazes as environments: physics, rules, options and errors."""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from math import hypot
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from tests.envs.doom.mazes import HMaze, LargeMaze, LargeMazeHazards, PlusMaze, TMaze

import vast  # noqa: F401  (registers the environments)
from vast.envs.doom.environment import FORWARD, LEFT, RIGHT, DoomMaze
from vast.errors import UserError

TASKS = ("TMaze", "LargeMaze", "LargeMazeHazards", "HMaze", "PlusMaze")
RECORDED = json.loads((Path(__file__).parent / "recorded_runs.json").read_text())


def walk(env: DoomMaze, *actions: int) -> dict[str, Any]:
    """Take the actions and return the last info."""
    for action in actions:
        info = env.step(np.int64(action))[4]
    return info


def fingerprint(task: str, seed: int, steps: int = 300) -> str:
    """Hash every frame, reward and info of a random walk."""
    env = gymnasium.make(f"vast/{task}-v0")
    digest = hashlib.sha256()
    rng = np.random.default_rng(0)
    observation, info = env.reset(seed=seed)
    digest.update(observation.tobytes() + repr(sorted(info.items())).encode())
    for _ in range(steps):
        observation, reward, terminated, _, info = env.step(rng.integers(3))
        digest.update(observation.tobytes() + repr((reward, sorted(info.items()))).encode())
        if terminated:
            observation, info = env.reset()
            digest.update(observation.tobytes())
    env.close()
    return digest.hexdigest()


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
def test_it_is_a_proper_gymnasium_environment(task: str) -> None:
    env = gymnasium.make(f"vast/{task}-v0", render_mode="rgb_array").unwrapped
    check_env(env)
    assert env.observation_space.shape == (60, 80, 3)
    assert env.observation_space.dtype == np.uint8


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
def test_a_seed_gives_the_same_world_in_another_process(task: str) -> None:
    code = f"from tests.envs.doom.test_environment import *; print(fingerprint({task!r}, 3))"
    elsewhere = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=True,
    )
    here = fingerprint(task, 3)
    assert elsewhere.stdout.strip() == here
    assert (fingerprint(task, 4) == here) == (task == "TMaze")


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_runs_replay_on_our_mazes(world: Any, name: str) -> None:
    run = RECORDED[name]
    env = world(TMaze if run["map"] == "TOPEN" else HMaze, map_name=run["map"])
    actions = ["FLR".index(letter) for letter in run["actions"]]
    env.reset(seed=0, options={"start": run["start"], "frozen": True})
    # The recordings begin one step after a spawn, in which the first key was already down.
    walk(env, actions[0])
    for action, pose in zip(actions, run["poses"], strict=True):
        _, reward, terminated, truncated, info = env.step(np.int64(action))
        here = np.array([info["x"], info["y"], info["angle"]])
        np.testing.assert_allclose(here, pose, atol=1e-3, rtol=0)
    assert (reward, terminated, truncated) == (run["last_reward"], run["terminated"], False)


def test_a_start_in_the_map_and_a_pose_given_to_reset_are_the_same(world: Any) -> None:
    env = world(TMaze, map_name="TOPEN")
    spawned, at_start = env.reset(seed=0)
    posed, at_pose = env.reset(seed=0, options={"start": (288, 0, 180), "frozen": True})
    assert at_start == at_pose
    np.testing.assert_array_equal(spawned, posed)


def test_running_reaches_the_papers_top_speed(world: Any) -> None:
    env = world(HMaze)
    env.reset(seed=0, options={"start": (-800, 0, 0)})
    xs = [-800.0, *(walk(env, FORWARD)["x"] for _ in range(22))]
    steps = np.diff(xs)
    np.testing.assert_allclose(steps[:4], (14.2, 31.3, 42.8, 50.6), atol=0.06)
    assert steps[-1] == pytest.approx(66.7, abs=0.05)
    # Momentum: the player keeps moving while it turns, and info has its velocity.
    info = walk(env, LEFT)
    assert info["x"] - xs[-1] == pytest.approx(52.4, abs=0.1)
    assert info["vx"] == pytest.approx(66.65 / 4 * 0.90625**5, abs=0.02)
    assert info["vy"] == 0


def test_turning_speeds_up_while_a_key_is_held(world: Any) -> None:
    env = world(HMaze)
    env.reset(seed=0, options={"start": (0, 0, 90)})
    angles = [90.0, *(walk(env, LEFT)["angle"] for _ in range(4))]
    np.testing.assert_allclose(np.diff(angles), (7.03, 22.85, 28.125, 28.125), atol=0.01)
    walk(env, FORWARD)
    before = walk(env, FORWARD)["angle"]
    assert walk(env, RIGHT)["angle"] == pytest.approx(before - 7.03, abs=0.01)


def test_input_is_lost_for_seven_tics_after_a_spawn(world: Any) -> None:
    env = world(TMaze)
    env.reset(seed=0)
    assert walk(env, FORWARD)["x"] == -288
    assert walk(env, FORWARD)["x"] == pytest.approx(-288 + 1.5625)


def test_an_invisible_wall_stops_the_player_in_one_map_only(world: Any) -> None:
    env = world(TMaze)
    env.reset(seed=0, options={"start": (-100, 0, 0)})
    assert walk(env, *[FORWARD] * 12)["x"] == pytest.approx(47.95, abs=0.01)
    env.set_map("TOPEN")
    env.reset(options={"start": (-100, 0, 0)})
    assert walk(env, *[FORWARD] * 12)["x"] == pytest.approx(304, abs=0.1)


def test_what_an_experiment_may_change_can_be_set_and_set_back(world: Any) -> None:
    env = world(TMaze)
    assert env.mutable_settings == ("map_name", "reversed")
    before = {name: getattr(env, name) for name in env.mutable_settings}
    assert before == {"map_name": "TBLOCK", "reversed": False}
    changed = {"map_name": "TOPEN", "reversed": True}
    for settings in (changed, before):
        for name, value in settings.items():
            setattr(env, name, value)
        assert {name: getattr(env, name) for name in env.mutable_settings} == settings
        assert env.reset(seed=0)[1]["map"] == settings["map_name"]


def test_the_invisible_wall_is_invisible(world: Any) -> None:
    env = world(TMaze)
    blocked, _ = env.reset(seed=0, options={"start": (-200, 0, 0)})
    env.set_map("TOPEN")
    open_, _ = env.reset(seed=0, options={"start": (-200, 0, 0)})
    np.testing.assert_array_equal(blocked, open_)


def test_a_floor_plan_has_the_walls_and_the_active_zones(world: Any) -> None:
    env = world(TMaze)
    blocked = env.floor_plan()
    env.set_map("TOPEN")
    assert env.floor_plan().walls == blocked.walls
    assert (blocked.unseen, env.floor_plan().unseen) == ([(64.0, 64.0, 64.0, -64.0)], [])
    plain, hazardous = world(LargeMaze).floor_plan(), world(LargeMazeHazards).floor_plan()
    inner = {wall for wall in plain.walls if max(map(abs, wall)) < 500}
    assert (384.0, 384.0, -384.0, 384.0) in inner
    assert len(inner) == 12  # two more begin at the rim
    assert plain.walls == hazardous.walls
    assert {area.kind for area in plain.areas} == {"goal"}
    assert [area.kind for area in hazardous.areas].count("hazard") == 6


def test_the_teleporter_works_when_switched_on_and_looks_the_same_when_off(world: Any) -> None:
    env = world(HMaze)
    dead_end, _ = env.reset(seed=0, options={"start": (-900, -300, 270)})
    process = env._engine.process_id
    info = walk(env, *[FORWARD] * 12)
    assert (info["x"], info["y"]) == pytest.approx((-900, -560), abs=0.1)
    env.set_map("HON")
    shortcut, _ = env.reset(seed=0, options={"start": (-900, -300, 270)})
    np.testing.assert_array_equal(dead_end, shortcut)
    assert walk(env, *[FORWARD] * 6)["y"] == pytest.approx(-554.06, abs=0.01)
    after = walk(env, FORWARD)
    # Running south becomes running west; the position along the line is kept.
    env.reset(options={"start": (-880, -300, 270)})
    assert walk(env, *[FORWARD] * 7)["y"] == pytest.approx(after["y"] - 20, abs=1e-3)
    assert 300 < after["y"] < 330
    assert 832 < after["x"] < 896
    assert after["angle"] == pytest.approx(180, abs=0.01)
    assert after["vx"] < -10
    assert after["map"] == "HON"
    assert env._engine.process_id == process


def test_the_first_episode_after_a_change_of_the_map_is_that_of_its_seed(world: Any) -> None:
    switched, fresh, resumed = world(HMaze), world(HMaze), world(HMaze)
    switched.reset(seed=1)
    for env in (switched, fresh):
        env.set_map("HON")
    assert switched.reset(seed=2)[1] == fresh.reset(seed=2)[1]
    resumed.load_state_dict(switched.state_dict())
    assert walk(resumed, FORWARD, LEFT) == walk(switched, FORWARD, LEFT)


@pytest.mark.slow
def test_hazards_replace_the_living_reward_one_time_in_four(world: Any) -> None:
    env = world(LargeMazeHazards)
    env.reset(seed=0, options={"start": (32, -288, 0)})
    steps = [env.step(np.int64(LEFT)) for _ in range(800)]
    hurt = [step for step in steps if step[4]["event"] == "hazard"]
    assert {step[1] for step in hurt} == {-1.0}
    assert {step[1] for step in steps if step[4]["event"] is None} == {-0.01}
    assert not any(step[2] for step in steps)
    # 800 draws at 0.25: 200 on average, standard deviation 12.
    assert 150 < len(hurt) < 250


def test_there_are_no_hazards_beside_them_or_in_the_plain_task(world: Any) -> None:
    for task, at in ((LargeMazeHazards, (-32, -288, 0)), (LargeMaze, (32, -288, 0))):
        env = world(task)
        env.reset(seed=0, options={"start": at})
        assert {env.step(np.int64(LEFT))[1] for _ in range(100)} == {-0.01}


@pytest.mark.parametrize(
    ("task", "start", "outcome"),
    [
        (TMaze, (0, -500, 270), (1.0, "goal")),
        (LargeMaze, (90, 0, 180), (1.0, "goal")),
        (HMaze, (896, 500, 90), (1.0, "goal")),
        (HMaze, (896, -500, 270), (-1.0, "penalty")),
        (PlusMaze, (500, 0, 0), (1.0, "goal")),
        (PlusMaze, (-500, 0, 180), (1.0, "goal")),
        (PlusMaze, (0, 500, 90), (-1.0, "penalty")),
        (PlusMaze, (0, -500, 270), (-1.0, "penalty")),
    ],
)
def test_zones_end_the_episode_and_reversal_swaps_them(
    world: Any,
    task: Callable[..., DoomMaze],
    start: tuple[int, int, int],
    outcome: tuple[float, str],
) -> None:
    env = world(task)
    swapped = {1.0: (-1.0, "penalty"), -1.0: (1.0, "goal")}[outcome[0]]
    for reverse, expected in ((False, outcome), (True, swapped)):
        env.reset(seed=0, options={"start": start})
        env.reversed = reverse
        for _ in range(6):
            _, reward, terminated, truncated, info = env.step(np.int64(FORWARD))
            if terminated:
                break
            assert reward == (0.0 if task is PlusMaze else -0.01)
        assert (reward, info["event"]) == expected
        assert (terminated, truncated) == (True, False)


def test_goals_begin_where_the_paper_puts_them(world: Any) -> None:
    env = world(PlusMaze)
    with pytest.raises(UserError, match="outside of zones that end the episode"):
        env.reset(seed=0, options={"start": (550.5, 0, 0)})
    env.reset(seed=0, options={"start": (549.5, 0, 180)})
    assert not env.step(np.int64(LEFT))[2]


def test_the_dead_end_of_the_h_maze_is_not_a_zone(world: Any) -> None:
    env = world(HMaze)
    env.reset(seed=0, options={"start": (-896, -500, 270)})
    for _ in range(5):
        _, reward, terminated, _, info = env.step(np.int64(FORWARD))
        assert (reward, terminated, info["event"]) == (-0.01, False, None)


@pytest.mark.slow
def test_episodes_begin_at_many_places_but_never_in_a_zone(world: Any) -> None:
    env = world(PlusMaze)
    poses = [env.reset(seed=seed)[1] for seed in range(60)]
    assert len({(info["x"], info["y"], info["angle"]) for info in poses}) == 60
    assert all(max(abs(info["x"]), abs(info["y"])) <= 550 for info in poses)
    # Ten random actions and up to thirteen turns come before the first step.
    assert all(41 <= info["tic"] <= 1 + 4 * 23 for info in poses)
    assert {info["tic"] for info in poses} == {1 + 4 * steps for steps in range(10, 24)}


def test_the_large_maze_begins_in_its_rim(world: Any) -> None:
    env = world(LargeMaze)
    for seed in range(20):
        info = env.reset(seed=seed)[1]
        assert max(abs(info["x"]), abs(info["y"])) > 300


def test_info_has_what_is_promised(world: Any) -> None:
    env = world(HMaze)
    _, info = env.reset(seed=0)
    assert set(info) == {"x", "y", "angle", "vx", "vy", "tic", "map", "event"}
    assert info["map"] == "HOFF"
    later = walk(env, FORWARD)
    assert later["tic"] == info["tic"] + 4
    assert hypot(later["vx"], later["vy"]) > 0


def test_rendering_gives_a_large_picture_and_changes_no_observation(world: Any) -> None:
    plain, filmed = world(HMaze), world(HMaze, render_mode="rgb_array")
    plain.reset(seed=5)
    filmed.reset(seed=5)
    rng = np.random.default_rng(1)
    for step in range(30):
        action = rng.integers(3)
        expected = plain.step(action)
        got = filmed.step(action)
        np.testing.assert_array_equal(expected[0], got[0])
        assert expected[1:] == got[1:]
        if step % 7 == 0:
            picture = filmed.render()
            assert picture.shape == (480, 640, 3)
            small = picture.reshape(60, 8, 80, 8, 3).mean(axis=(1, 3))
            assert np.abs(small - got[0]).mean() < 12
    assert plain.render() is None


def test_a_restored_state_continues_as_if_never_stopped(world: Any) -> None:
    first, second = world(LargeMazeHazards), world(LargeMazeHazards)
    first.reset(seed=7)
    first.reversed = True
    walk(first, *[FORWARD, LEFT, FORWARD] * 5)
    state = first.state_dict()
    second.reset(seed=1)
    second.load_state_dict(state)
    rng = np.random.default_rng(2)
    for _ in range(40):
        action = rng.integers(3)
        expected, got = first.step(action), second.step(action)
        np.testing.assert_array_equal(expected[0], got[0])
        assert expected[1:] == got[1:]
    assert second.reversed
    np.testing.assert_array_equal(first.reset()[0], second.reset()[0])


def test_nothing_is_written_to_the_working_directory(
    world: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    env = world(TMaze, render_mode="rgb_array")
    env.reset(seed=0)
    walk(env, FORWARD)
    env.render()
    env.close()
    assert os.listdir(tmp_path) == []
    assert Path.cwd() == tmp_path


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"start": (0, 70, 0)}, r"start must be inside the map TBLOCK, got \(0, 70, 0\)"),
        ({"start": (5000, 0, 0)}, "start must be inside the map TBLOCK"),
        ({"start": (0, 60, 0)}, "start must have room for the player"),
        ({"start": (0, -560, 0)}, "start must be outside of zones that end the episode"),
        ({"start": (0, 0)}, r"start must be \(x, y, angle in degrees\), got \(0, 0\)"),
        ({"start": (0, float("nan"), 0)}, r"start must be \(x, y, angle in degrees\)"),
        ({"strat": (0, 0, 0)}, "did you mean 'start'"),
    ],
)
def test_an_invalid_start_is_refused(world: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        world(TMaze).reset(seed=0, options=options)


def test_wrong_names_and_calls_are_refused_before_they_reach_the_engine(world: Any) -> None:
    with pytest.raises(UserError, match=r"map of h-maze.maze 'HIN'.*mean 'HON'"):
        world(HMaze, map_name="HIN")
    env = world(HMaze)
    with pytest.raises(UserError, match="must be one of HOFF, HON"):
        env.set_map("NOSUCH")
    with pytest.raises(UserError, match="must be one of HOFF, HON"):
        env.map_name = "NOSUCH"
    assert env.map_name == "HOFF"
    with pytest.raises(UserError, match="call reset"):
        env.step(np.int64(0))
    env.reset(seed=0)
    with pytest.raises(UserError, match="action must be 0 forward, 1 left or 2 right, got"):
        env.step(np.int64(3))
    with pytest.raises(UserError, match="unknown render mode"):
        world(HMaze, render_mode="human")
