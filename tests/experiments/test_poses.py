"""Runs store the pose that `info` gives beside every frame, and no decision depends on it."""

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from tests.experiments.sameness import vast
from tests.training.runs import identical
from vast import VaST
from vast.experiments.runs import open_readonly
from vast.replay import Replay


@pytest.mark.parametrize("agent", ["vast", pytest.param("nec", marks=pytest.mark.slow), "ddqn"])
def test_each_frame_has_the_pose_at_which_it_was_observed_also_when_resumed(
    agent: str, tmp_path: Path
) -> None:
    """In the continuous T-maze the observation is the position: they must agree."""
    run = tmp_path / "run"
    capacity = "--replay.capacity" if agent == "vast" else "--replay"
    options = ("--agent", agent, "--preset", "debug", capacity, "150", "--out", run)
    vast("train", "t-maze-2d", *options, "--steps", "130")
    vast("resume", run, "--steps", "220")  # some frames are evicted by then
    with open_readonly(run) as opened:
        replay = opened.agent.frame_store
        assert isinstance(replay, Replay)
        numbers = np.arange(replay.oldest, replay.end)
        assert replay.oldest > 0
        poses = replay.poses(numbers)
        np.testing.assert_allclose(poses[:, :2], replay.frames(numbers), atol=1e-6)
        assert np.isnan(poses[:, 2]).all()  # a point has no heading


class Silent(gymnasium.Wrapper[Any, Any, Any, Any]):
    """An environment that does not tell where the agent is."""

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        return self.env.reset(**options)[0], {}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        *outcome, _ = self.env.step(action)
        return (*outcome, {})


def test_an_agent_learns_the_same_without_poses() -> None:
    env = gymnasium.make("vast/TMaze2D-v0")
    agents = [VaST(world, preset="debug").learn(150) for world in (env, Silent(env))]
    told, untold = (agent.state_dict() for agent in agents)
    assert identical(told, untold)
    assert np.isnan(agents[1].replay.poses([0])).all()
    for agent in agents:
        agent.close()
