"""Hyperparameters that agents have in common; the defaults are the paper's, for 3D navigation."""

from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, get_args

from vast.checks import at_least, below_one, fits, one_of, positive
from vast.errors import UserError
from vast.extras import require
from vast.model.config import NetworkConfig
from vast.replay.resizing import Pooling
from vast.training.exploration import ExplorationConfig

Planner = Literal["inline", "background"]
Search = Literal["exact", "inverted"]


@dataclass(frozen=True)
class AgentConfig:
    """What every baseline has."""

    resize: tuple[int, int] | None = None
    """rows and columns to which images are shrunk as they arrive; None: as they are; ours"""
    pooling: Pooling = "mean"
    """how they are shrunk: mean, by area, or max, which keeps what is small and bright; ours"""
    history: int = 0
    """k, earlier frames that the agent sees beside the current one; paper, section 2"""
    discount: float = 0.99
    """gamma; supplement, 'Hyperparameters'"""
    exploration: ExplorationConfig = field(default_factory=ExplorationConfig)
    """the share of random actions"""

    def __post_init__(self) -> None:
        at_least(0, history=self.history)
        one_of(get_args(Pooling), pooling=self.pooling)
        below_one(discount=self.discount)


class InvertedSearch(NamedTuple):
    """How to search with an inverted file."""

    start: int
    """entries from which on it is used; these entries give the centroids"""
    lists: int
    """centroids"""
    probes: int
    """lists read by a search"""


@dataclass(frozen=True)
class NeighbourConfig(AgentConfig):
    """How nearest neighbours are searched."""

    index: Search = "exact"
    """exact: among all entries; inverted: in large memories, among the entries in the lists whose
    centroids are nearest to the query, which is faster and finds nearly all; ours"""
    index_from: int = 40_000
    """entries of an action from which on its search is inverted; their keys give the centroids;
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
                f"index_from must be at least {self.lists}, the number of lists, "
                f"got {self.index_from}"
            )
        if self.probes > self.lists:
            raise UserError(
                f"probes must be at most {self.lists}, the number of lists, got {self.probes}"
            )

    @property
    def inverted(self) -> InvertedSearch | None:
        """Return how to search an inverted file; None if the search is exact."""
        if self.index == "exact":
            return None
        return InvertedSearch(self.index_from, self.lists, self.probes)


def require_parts(config: Any) -> None:
    """Raise UserError if an agent with this config requires an extra that is not installed.

    Not when a memory becomes large enough for it, which may be hours later.
    """
    if isinstance(config, NeighbourConfig) and config.index == "inverted":
        require("nec", "the index 'inverted'")


@dataclass(frozen=True)
class ReplayAgentConfig(AgentConfig):
    """What every baseline with a network and a replay memory has."""

    network: NetworkConfig = field(default_factory=NetworkConfig)
    """the layers before the outputs, the same as VaST's encoder; supplement"""
    standardise_after: int | None = None
    """environment steps after which the network sees (x - mean) / std of the frames so far; None:
    never; ours"""
    replay: int = 500_000
    """frames in the replay memory; supplement, 'Hyperparameters'"""
    compressed: bool = False
    """store frames compressed, for less memory and more time; ours"""
    batch: int = 32
    """samples per minibatch; supplement"""
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
        at_least(self.least_replay, replay=self.replay)
        fits(replay=self.replay)

    @property
    def least_replay(self) -> int:
        """Return how many frames one sample takes."""
        return self.history + 2


@dataclass(frozen=True)
class TableConfig(AgentConfig):
    """How an agent plans in a table of states that a fixed encoder gives."""

    min_priority: float = 5e-5
    """p_min: a state whose |U - V| is smaller is not queued; supplement"""
    planner: Planner = "inline"
    """inline: deterministic; background: in a thread of its own, as the paper's process"""
    backups_per_step: int = 10_000
    """budget of inline planning after each environment step; ours. Presets add what VaST may spend
    after training steps"""

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of(("inline", "background"), planner=self.planner)
        at_least(0, backups_per_step=self.backups_per_step)
        positive(min_priority=self.min_priority)
