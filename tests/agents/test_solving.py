"""Each agent learns a maze it should: the shortest way to the goal from every cell, or nearly."""

import numpy as np
import pytest

from tests.agents.mazes import GridMaze, live, share_of_shortest_paths
from vast.agents.base import Agent
from vast.agents.ddqn import PrioritizedDDQN, PrioritizedDDQNConfig
from vast.agents.lsh import LSH, LSHConfig
from vast.agents.mfec import MFEC, MFECConfig
from vast.agents.nec.agent import NEC
from vast.agents.nec.config import NECConfig
from vast.model.config import NetworkConfig
from vast.training.exploration import ExplorationConfig
from vast.training.spaces import Spaces

SCHEDULE = ExplorationConfig(burn_in=500, anneal_steps=1500)
SMALL = NetworkConfig(kind="mlp", mlp_hidden=(64, 64))
images = pytest.mark.parametrize("image", [False, True])


def solved(agent: Agent, image: bool, steps: int) -> float:
    live(agent, GridMaze(image), steps)
    return share_of_shortest_paths(agent, GridMaze(image))


def world(image: bool) -> Spaces:
    if image:
        return Spaces((5, 5, 1), np.dtype(np.uint8), 4)
    return Spaces((2,), np.dtype(np.float32), 4)


@images
def test_mfec(image: bool) -> None:
    config = MFECConfig(capacity=1000, exploration=SCHEDULE)
    assert solved(MFEC(world(image), config=config), image, 3000) >= 0.9


def test_lsh() -> None:
    config = LSHConfig(exploration=SCHEDULE)
    assert solved(LSH(world(True), config=config), True, 3000) == 1


@pytest.mark.slow
@images
def test_nec(image: bool) -> None:
    config = NECConfig(
        embedding=8,
        neighbours=10,
        capacity=2000,
        replay=5000,
        n_steps=5,
        discount=0.9,
        network=SMALL,
        standardise_after=200,
        learning_rate=1e-4,
        exploration=SCHEDULE,
    )
    assert solved(NEC(world(image), config=config), image, 4000) >= 0.9


@pytest.mark.slow
@images
def test_ddqn(image: bool) -> None:
    config = PrioritizedDDQNConfig(
        replay=5000,
        discount=0.9,
        target_interval=200,
        beta_steps=5000,
        network=SMALL,
        standardise_after=200,
        learning_rate=1e-3,
        exploration=SCHEDULE,
    )
    agent = PrioritizedDDQN(world(image), config=config)
    assert solved(agent, image, 6000) >= 0.9
