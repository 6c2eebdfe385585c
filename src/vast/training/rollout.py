"""One generator of steps of a policy in an environment, and the test epochs built on it."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from vast.training.protocol import Env, Observation, Policy, Trainable
from vast.training.spaces import counted_events, final_score, is_in_game, is_lost


class RolloutStep(NamedTuple):
    """One environment step of a policy."""

    episode: int
    """counted from 0"""
    observation: Observation
    """what the policy acted on; the policy is still there when the step is yielded"""
    info: dict[str, Any]
    """of that observation"""
    action: int
    reward: float
    terminated: bool
    truncated: bool
    lost: bool
    """whether it did not happen; the episode is over, and nobody knows how it would have ended"""
    event: str | None
    """what happened in it, if the environment tells"""
    in_game: bool
    """whether a game goes on after it; False in environments that have none"""
    score: float | None
    """of the game that it ended; None if it ended none"""


def rollout(policy: Policy, env: Env, seeds: Iterable[int]) -> Iterator[RolloutStep]:
    """Yield the steps of one episode per seed, the seed with which the environment is reset.

    Nothing happens before the first step is asked for, and nothing after the last one.
    """
    for episode, seed in enumerate(seeds):
        observation, info = env.reset(seed=seed)
        policy.begin(np.asarray(observation))
        ended = False
        while not ended:
            action = policy.act()
            following, reward, terminated, truncated, next_info = env.step(np.int64(action))
            lost = is_lost(next_info)
            ended = bool(terminated or truncated or lost)
            yield RolloutStep(
                episode,
                np.asarray(observation),
                info,
                action,
                float(reward),
                bool(terminated),
                bool(truncated),
                lost,
                next_info.get("event"),
                is_in_game(next_info),
                final_score(next_info),
            )
            observation, info = following, next_info
            if not ended:
                policy.observe(np.asarray(observation))


def episode_seeds(seed: np.random.SeedSequence) -> Iterator[int]:
    """Yield seeds for episodes without end."""
    rng = np.random.default_rng(seed)
    while True:
        yield int(rng.integers(2**31))


class EpochResult(NamedTuple):
    """The result of a test epoch."""

    reward_per_step: float
    mean_return: float
    """of the episodes that ended in it; nan if none did"""
    episodes: int
    """that ended in it"""
    goals: int
    """that ended with a positive last reward"""
    events: dict[str, float]
    """share of the episodes that began in it in which each counted event happened"""
    scores: tuple[float, ...] | None = None
    """of the games that ended in it; None if the environment has no games"""

    def summary(self) -> dict[str, float]:
        """Return all of it by name."""
        found: dict[str, Any] = self._asdict()
        shares, scores = found.pop("events"), found.pop("scores")
        games = {} if scores is None else {"score": _mean(scores), "games": len(scores)}
        return {**found, **{f"with_{event}": share for event, share in shares.items()}, **games}

    def metrics(self) -> dict[str, float]:
        """Return the same by the names of docs/runs.md."""
        return {f"eval/{name}": value for name, value in self.summary().items()}


def run_test_epoch(
    agent: Trainable, env: Env, steps: int, epsilon: float, seed: np.random.SeedSequence
) -> EpochResult:
    """Act for a number of steps, starting with a new episode; the agent learns nothing.

    Where the environment has games, which need not be what ends an episode, the epoch goes on until
    the last one is over, for at most as many steps again. A lost step counts as a step without
    reward; its episode is not one of those that ended.
    """
    acting, resetting = seed.spawn(2)
    policy = agent.policy(epsilon, np.random.default_rng(acting))
    rewards, returns, goals = 0.0, [], 0
    total, begun, taken = 0.0, 0, 0
    scores: list[float] = []
    has_games = False
    seen: dict[str, set[int]] = {event: set() for event in counted_events(env)}
    for step in _to_the_end_of_a_game(rollout(policy, env, episode_seeds(resetting)), steps):
        taken, begun = taken + 1, step.episode + 1
        if step.event in seen:
            seen[step.event].add(step.episode)
        if step.score is not None:
            scores.append(step.score)
        has_games = has_games or step.in_game or step.score is not None
        if step.lost:
            total = 0.0
            continue
        rewards += step.reward
        total += step.reward
        if step.terminated or step.truncated:
            returns.append(total)
            total = 0.0
            goals += step.terminated and step.reward > 0
    shares = {event: len(episodes) / begun for event, episodes in seen.items()}
    return EpochResult(
        rewards / taken,
        _mean(returns),
        len(returns),
        goals,
        shares,
        tuple(scores) if has_games else None,
    )


def _to_the_end_of_a_game(steps: Iterator[RolloutStep], least: int) -> Iterator[RolloutStep]:
    """Yield at least so many steps, and at most twice as many if a game is in progress then."""
    for number, step in enumerate(islice(steps, 2 * least), start=1):
        yield step
        if number >= least and not step.in_game:
            return


def _mean(values: Sequence[float]) -> float:
    """Return the mean; nan if there are no values."""
    return float(np.mean(values)) if values else float("nan")
