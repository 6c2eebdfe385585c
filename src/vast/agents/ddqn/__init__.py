"""Prioritized Double DQN, rank-based (Schaul et al. 2016, van Hasselt et al. 2016)."""

from vast.agents.ddqn.config import PrioritizedDDQNConfig
from vast.agents.ddqn.mind import PrioritizedDDQN

__all__ = ["PrioritizedDDQN", "PrioritizedDDQNConfig"]
