"""What the process has loaded from which runs are forked: all that takes long to load.

It trains nothing, so that it has no threads, which a forked process would lack.
"""

import gymnasium
import torch

import vast
import vast.cli
import vast.envs.doom.environment
import vast.experiments.runs
from vast.agents.vast.agent import VaST

vast.VaST(gymnasium.make("vast/TMaze2D-v0"), preset="debug", seed=0)
__all__ = ["VaST", "torch"]
