"""Numbers that the baselines have in common; the defaults are the paper's, for 3D navigation."""

from dataclasses import dataclass, field
from typing import Literal

from vast.agents.checks import at_least, discounted, positive
from vast.agents.neighbours import Inverted
from vast.errors import UserError
from vast.model.config import NetworkConfig
from vast.training.exploration import ExplorationConfig

Planner = Literal["inline", "background"]
Index = Literal["exact", "inverted"]


@dataclass(frozen=True)
class MindConfig:
    """What every baseline must be told."""

    resize: tuple[int, int] | None = None
    """rows and columns to which images are shrunk, by area average, when they arrive; None: as they
    are; ours"""
    history: int = 0
    """k, earlier frames that are seen together with the current one; paper, section 2"""
    discount: float = 0.99
    """gamma; supplement, 'Hyperparameters'"""
    exploration: ExplorationConfig = field(default_factory=ExplorationConfig)
    """the share of random actions"""

    def __post_init__(self) -> None:
        at_least(0, history=self.history)
        discounted(self.discount)


@dataclass(frozen=True)
class SearchConfig(MindConfig):
    """How nearest neighbours are searched for."""

    index: Index = "exact"
    """exact: among all entries; inverted: in large memories, among those in the lists of the
    centroids nearest to the query, which is faster and finds nearly all; ours"""
    index_from: int = 40_000
    """entries of an action from which on its search is inverted; their keys make the centroids;
    ours"""
    lists: int = 1024
    """centroids per action, each with a list of the entries nearest to it; ours"""
    probes: int = 16
    """lists that one search reads; ours"""

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(1, lists=self.lists, probes=self.probes)
        if self.index == "inverted" and self.index_from < self.lists:
            raise UserError(
                f"index_from {self.index_from}: allowed is {self.lists} or more, as many as lists"
            )
        if self.probes > self.lists:
            raise UserError(f"probes {self.probes}: allowed is 1 to {self.lists}, all lists")

    @property
    def inverted(self) -> Inverted | None:
        """Return how memories are to be searched, None if exactly."""
        if self.index == "exact":
            return None
        return Inverted(self.index_from, self.lists, self.probes)


@dataclass(frozen=True)
class LearnerConfig(MindConfig):
    """What every baseline with a network and a replay must be told."""

    network: NetworkConfig = field(default_factory=NetworkConfig)
    """the layers before the outputs, as VaST's encoder has; supplement"""
    standardise_after: int | None = None
    """environment steps after which the network is shown (x - mean) / std of what was seen until
    then; None: never; ours"""
    replay: int = 500_000
    """frames in the replay memory; supplement, 'Hyperparameters'"""
    compressed: bool = False
    """keep frames compressed, for less memory and more time; ours"""
    batch: int = 32
    """samples of a minibatch; supplement"""
    train_interval: int = 4
    """environment steps per minibatch, after the burn-in; supplement, 'Hyperparameters'"""
    learning_rate: float = 1e-4
    """of Adam; supplement"""
    betas: tuple[float, float] = (0.9, 0.999)
    """of Adam; supplement"""
    epsilon: float = 1e-8
    """of Adam; supplement"""

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(1, batch=self.batch, train_interval=self.train_interval)
        if self.standardise_after is not None:
            at_least(1, standardise_after=self.standardise_after)
        positive(learning_rate=self.learning_rate, epsilon=self.epsilon)
        least = self.least_replay
        if self.replay < least:
            raise UserError(f"replay {self.replay}: allowed is {least} or more frames here")

    @property
    def least_replay(self) -> int:
        """Return how many frames one sample takes."""
        return self.history + 2
