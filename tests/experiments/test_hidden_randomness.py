"""An environment with randomness that no seed controls: its episode cannot be restored."""

import logging
from pathlib import Path

import numpy as np
import pytest

from tests.agents.worlds import TINY, Grid, assigned
from tests.planning.models import assert_counts
from vast import VaST
from vast.replay.episodes import Fate


def stopped_in_an_episode(env: Grid, path: Path) -> VaST:
    agent = VaST(env, config=TINY)
    agent.learn(60)
    while len(agent.trainer.actor._actions) < 8 or not agent.trainer.actor._in_episode:
        agent.learn(1)
    agent.save(path)
    return agent


def test_an_episode_that_does_not_repeat_itself_is_cut_and_a_new_one_begins(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    hidden = np.random.default_rng(0)
    agent = stopped_in_an_episode(Grid(hidden), tmp_path / "agent")
    with caplog.at_level(logging.WARNING):
        loaded = VaST.load(tmp_path / "agent", Grid(hidden))
    assert len(caplog.records) == 1
    assert "a new one begins" in caplog.records[0].getMessage()
    assert caplog.records[0].getMessage().count("\n") == 0
    replay = loaded.replay
    assert replay.end == agent.replay.end
    assert replay.state_dict(frames=False)["fate"][-1] == Fate.TRUNCATED
    episodes = replay.n_episodes
    loaded.learn(1)
    assert replay.n_episodes == episodes + 1
    loaded.learn(30)
    assert replay.oldest == 0
    assert_counts(loaded.table, assigned(loaded))


def test_an_episode_that_repeats_itself_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    agent = stopped_in_an_episode(Grid(), tmp_path / "agent")
    loaded = VaST.load(tmp_path / "agent", Grid())
    assert caplog.records == []
    assert loaded.replay.in_episode
    assert loaded.replay.n_episodes == agent.replay.n_episodes
