"""A step that the environment says did not happen leaves no trace but the decision."""

import copy
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from tests.agents.test_contract import AGENTS, assert_same, everything
from tests.agents.worlds import TINY, Grid, assigned
from tests.planning.models import assert_counts
from tests.training.runs import identical
from vast import VaST
from vast.training.actor import Actor
from vast.training.rollout import run_test_epoch

Step = tuple[Any, float, bool, bool, dict[str, Any]]


class Losing(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Loses steps as Doom does with its engine: the last observation comes again, without reward.

    `loses` tells from the seed of the episode and the number of the step which ones.
    """

    def __init__(self, loses: Callable[[int, int], bool]) -> None:
        super().__init__(Grid())
        self._loses = loses
        self.rewards: list[float] = []
        self.lost = self.ended = 0
        self.returns = 0.0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        assert seed is not None
        self._seed, self._step, self._total = seed, 0, 0.0
        self._seen, info = super().reset(seed=seed, options=options)
        return self._seen, info

    def step(self, action: Any) -> Step:
        self._step += 1
        if self._loses(self._seed, self._step):
            self.lost += 1
            return self._seen, 0.0, False, True, {"lost_step": True}
        self._seen, reward, terminated, truncated, info = super().step(action)
        self.rewards.append(float(reward))
        self._total += float(reward)
        if terminated or truncated:
            self.ended += 1
            self.returns += self._total
        return self._seen, float(reward), terminated, truncated, info


def sometimes(seed: int, step: int) -> bool:
    return step == 1 + seed % 9


def test_table_and_replay_hold_only_steps_that_happened() -> None:
    env = Losing(sometimes)
    agent = VaST(env, config=replace(TINY, encode_batch=1)).learn(150)
    agent.close()
    assert env.lost > 10
    assert agent.steps == env.lost + len(env.rewards) == 150
    held = assigned(agent)
    assert len(held) == len(env.rewards)
    assert [step.reward for step in held] == env.rewards
    assert_counts(agent.table, held)


@pytest.mark.parametrize("name", list(AGENTS))
def test_an_agent_whose_steps_are_all_lost_learns_as_if_it_only_began(name: str) -> None:
    kind, config = AGENTS[name]
    agent, other = (kind(Losing(lambda *_: True), config=config, seed=0) for _ in range(2))
    actor = Actor(Losing(lambda *_: True), np.random.SeedSequence(0))
    resets = Actor(Losing(lambda *_: True), np.random.SeedSequence(0))
    for _ in range(5):
        actor.step(agent)
        other.begin(*resets._reset())
        other.decide()
        other.cut()
    assert agent.steps == 5
    assert_same(everything(agent), everything(other))


def test_metrics_are_those_of_the_steps_that_happened() -> None:
    env = Losing(sometimes)
    agent = VaST(env, config=TINY)
    actor = Actor(env, np.random.SeedSequence(1))
    for _ in range(300):
        actor.step(agent)
    assert env.lost > 10
    assert env.ended > 0
    assert actor.metrics() == {
        "train/episodes": env.ended,
        "train/reward_per_step": pytest.approx(np.mean(env.rewards)),
        "train/mean_return": pytest.approx(env.returns / env.ended),
    }


def test_a_test_epoch_counts_lost_steps_but_not_their_episodes() -> None:
    agent, env = VaST(Grid(), config=TINY), Losing(sometimes)
    epoch = run_test_epoch(agent, env, 400, 1.0, np.random.SeedSequence(1))
    assert env.lost > 10
    assert env.lost + len(env.rewards) == 400
    assert epoch.reward_per_step == pytest.approx(sum(env.rewards) / 400)
    assert epoch.episodes == epoch.goals == env.ended > 0
    assert epoch.mean_return == pytest.approx(env.returns / env.ended)


def test_an_agent_that_loses_steps_resumes_exactly(tmp_path: Path) -> None:
    whole = VaST(Losing(sometimes), config=TINY).learn(160)
    parts = VaST(Losing(sometimes), config=TINY)
    for _ in range(40):  # after lost steps, and within episodes
        parts.learn(4).save(tmp_path)
        parts.close()
        parts = VaST.load(tmp_path, Losing(sometimes))
    assert identical(comparable(whole), comparable(parts))
    whole.close()
    parts.close()


def comparable(agent: VaST) -> dict[str, Any]:
    state = copy.deepcopy(agent.trainer.state_dict())
    del state["wall_seconds"]
    return state
