"""Test epochs of games: whole games count, whatever ends an episode."""

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from tests.agents.worlds import TINY
from vast import VaST
from vast.training.rollout import EpochResult, run_test_epoch
from vast.training.spaces import Spaces

GAMES = ((-1, 0, -1), (0, 1, 1, 1), (-1, 1), (1, 1, 1, 1))
"""the rewards of each step of four games, played over and over"""
SCORES = (-2.0, 3.0, 0.0, 4.0)


class Points(gymnasium.Env[Any, np.int64]):
    """Plays these games; an episode is a game, or ends at each point and the game goes on."""

    def __init__(self, *, point_ends_episode: bool) -> None:
        self.observation_space = spaces.Box(0, 1, (2,), np.float32)
        self.action_space = spaces.Discrete(2)
        self._point_ends_episode = point_ends_episode
        self._game, self._step = -1, 0
        self._over = True

    def reset(self, **_: Any) -> tuple[Any, dict[str, Any]]:
        if self._over or not self._point_ends_episode:
            self._game, self._step, self._over = (self._game + 1) % len(GAMES), 0, False
        return np.zeros(2, np.float32), self._info()

    def step(self, action: np.int64) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        rewards = GAMES[self._game]
        reward = rewards[self._step]
        self._step += 1
        self._over = self._step == len(rewards)
        ended = self._over or (self._point_ends_episode and reward != 0)
        return np.zeros(2, np.float32), float(reward), ended, False, self._info()

    def _info(self) -> dict[str, Any]:
        return {"score": sum(GAMES[self._game][: self._step]), "game_over": self._over}


def epoch_of(env: gymnasium.Env[Any, Any], steps: int) -> EpochResult:
    agent = VaST(Spaces((2,), np.dtype(np.float32), 2), config=TINY)
    return run_test_epoch(agent, env, steps, 0.0, np.random.SeedSequence(1))


@pytest.mark.parametrize("point_ends_episode", [False, True])
@pytest.mark.parametrize(("steps", "games"), [(3, 1), (4, 2), (7, 2), (8, 3), (10, 4), (13, 4)])
def test_an_epoch_has_whole_games_whatever_ends_an_episode(
    steps: int, games: int, point_ends_episode: bool
) -> None:
    found = epoch_of(Points(point_ends_episode=point_ends_episode), steps)
    taken = sum(len(game) for game in GAMES[:games])
    assert found.scores == SCORES[:games]
    assert found.reward_per_step == sum(SCORES[:games]) / taken
    episodes = sum(np.count_nonzero(game) for game in GAMES[:games])
    assert found.episodes == (episodes if point_ends_episode else games)
    metrics = found.metrics()
    assert metrics["eval/games"] == games
    assert metrics["eval/score"] == np.mean(SCORES[:games])


def test_a_game_longer_than_two_epochs_has_no_score() -> None:
    found = epoch_of(Points(point_ends_episode=False), 1).metrics()
    assert found["eval/games"] == 0
    assert np.isnan(found["eval/score"])
    assert found["eval/reward_per_step"] == -0.5  # of two steps


def test_a_game_that_a_time_limit_cuts_off_does_not_count() -> None:
    cut = gymnasium.wrappers.TimeLimit(Points(point_ends_episode=False), max_episode_steps=3)
    # The second game has four steps, the fourth as well: three of each are played.
    assert epoch_of(cut, 11).scores == (-2.0, 0.0, -2.0)


def test_an_environment_without_games_has_no_score() -> None:
    class NoGames(Points):
        def _info(self) -> dict[str, Any]:
            return {}

    found = epoch_of(NoGames(point_ends_episode=False), 4)
    assert found.scores is None
    assert not {"score", "games"} & found.summary().keys()
    assert found.reward_per_step == -0.5
