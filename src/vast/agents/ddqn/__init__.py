"""Prioritized Double DQN, rank-based (Schaul et al. 2016, van Hasselt et al. 2016)."""
