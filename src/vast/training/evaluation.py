"""Test epochs: a fixed number of steps in an environment of their own, that leave no trace."""

from typing import NamedTuple

import numpy as np

from vast.training.protocol import Agent, Env


class Epoch(NamedTuple):
    """What a test epoch brought."""

    reward_per_step: float
    mean_return: float
    """of the episodes that ended in it; nan if none did"""
    episodes: int
    """that ended in it"""
    goals: int
    """that ended with a positive last reward"""

    def metrics(self) -> dict[str, float]:
        """Return the same by the names of docs/runs.md."""
        return {f"eval/{name}": value for name, value in self._asdict().items()}


def run_test_epoch(
    agent: Agent,
    env: Env,
    steps: int,
    epsilon: float,
    seed: np.random.SeedSequence,
) -> Epoch:
    """Act for a number of steps, beginning with a new episode."""
    acting, resetting = seed.spawn(2)
    policy = agent.policy(epsilon, np.random.default_rng(acting))
    seeds = np.random.default_rng(resetting)
    rewards, returns, goals = 0.0, [], 0
    ended, total = True, 0.0
    for _ in range(steps):
        if ended:
            policy.begin(np.asarray(env.reset(seed=int(seeds.integers(2**31)))[0]))
            total = 0.0
        observation, reward, terminated, truncated, _ = env.step(np.int64(policy.act()))
        ended = bool(terminated or truncated)
        rewards += float(reward)
        total += float(reward)
        if ended:
            returns.append(total)
            goals += bool(terminated and float(reward) > 0)
        else:
            policy.observe(np.asarray(observation))
    mean = float(np.mean(returns)) if returns else float("nan")
    return Epoch(rewards / steps, mean, len(returns), goals)
