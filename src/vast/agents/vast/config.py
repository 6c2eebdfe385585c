"""Every number of the VaST agent; the defaults are the paper's, for 3D navigation."""

import math
from dataclasses import dataclass, field
from typing import Literal, get_args

from vast.agents.config import Planner
from vast.errors import UserError, unknown
from vast.model.config import ModelConfig
from vast.training.exploration import ExplorationConfig

Queue = Literal["bucketed", "exact"]
Sameness = Literal["observation", "state"]


@dataclass(frozen=True)
class PlanningConfig:
    """How values follow from the table."""

    discount: float = 0.99
    """gamma; supplement, 'Hyperparameters'"""
    min_priority: float = 5e-5
    """p_min: a state whose |U - V| is smaller is not queued; supplement"""
    planner: Planner = "inline"
    """inline: the same on every run; background: in a thread of its own, as the paper's process"""
    backups_per_step: int = 10_000
    """what inline planning may do after each environment step; ours (the paper's process did some
    6000 backups per second)"""
    backups_per_training: int = 10_000
    """what it may do after each training step, beside that; ours"""
    reward_horizon: float | None = None
    """steps after which a reward received counts 1/e as much in E[r|s,a] as a new one; None: all
    count alike, as in the paper; ours"""
    reward_width: float = 0.0
    """bits over which the reward at the end of an episode holds for states nearby, with a horizon;
    0: each state knows its own ends only; ours"""
    change_point: float | None = None
    """share of the latest ends of episodes that must bring what those nearby never led to expect
    for all older ones to be forgotten, with a width; None: nothing is forgotten; ours"""
    leap: int | None = None
    """bits; where an action leads farther than so many from wherever it led before, it is taken to
    do something new there, and what it did before is forgotten; None: never, as the paper; ours"""
    neighbours: bool = True
    """an action never tried in a state borrows its value from the nearest states; otherwise it is
    worth 0, which is for comparison only"""
    smoothing: float = 0.0
    """bits beyond the nearest state at which another counts 1/e as much when an action is valued,
    tried or not; 0: only the nearest, the state itself for actions tried, as the paper; ours"""
    smooth_learning: bool = True
    """whether smoothing has a say while the agent learns, too; ours"""
    caution: float = 0.0
    """standard errors by which values are lowered when nobody learns, so that what is known better
    is done; in training the mean counts, which tries things out; 0: never, as the paper; ours"""
    queue: Queue = "bucketed"
    """the order of backups: roughly by priority, and fast, or exactly so"""

    def __post_init__(self) -> None:
        if not 0 <= self.discount < 1:
            raise UserError(f"discount {self.discount}: allowed is 0 to below 1")
        if not self.min_priority > 0:
            raise UserError(f"min_priority {self.min_priority}: allowed is above 0")
        for name, allowed in (("planner", get_args(Planner)), ("queue", get_args(Queue))):
            if getattr(self, name) not in allowed:
                raise unknown(name, getattr(self, name), allowed)
        if self.reward_horizon is not None and not self.reward_horizon > 0:
            raise UserError(f"reward_horizon {self.reward_horizon}: allowed is above 0 steps")
        if not 0 <= self.reward_width < math.inf:
            raise UserError(f"reward_width {self.reward_width}: allowed is 0 or more bits")
        if self.reward_width and self.reward_horizon is None:
            raise UserError("reward_width without reward_horizon: allowed is both, or the latter")
        if self.change_point is not None and not 0 < self.change_point <= 1:
            raise UserError(
                f"change_point {self.change_point}: allowed is a share, above 0 and up to 1"
            )
        if self.change_point is not None and not self.reward_width:
            raise UserError("change_point without reward_width: allowed is both, or the latter")
        if self.leap is not None and self.leap < 0:
            raise UserError(f"leap {self.leap}: allowed is 0 or more bits")
        if not 0 <= self.smoothing < math.inf:
            raise UserError(f"smoothing {self.smoothing}: allowed is 0 or more bits")
        if not 0 <= self.caution < math.inf:
            raise UserError(f"caution {self.caution}: allowed is 0 or more standard errors")
        if (self.smoothing or self.caution) and not self.neighbours:
            raise UserError("smoothing or caution without neighbours: allowed is one of both")
        for name in ("backups_per_step", "backups_per_training"):
            if getattr(self, name) < 0:
                raise UserError(f"{name} {getattr(self, name)}: allowed is 0 or more")


@dataclass(frozen=True)
class ReplayConfig:
    """What is remembered."""

    capacity: int = 500_000
    """N, frames; supplement (1 000 000 for Pong)"""
    compressed: bool = False
    """keep frames compressed: a third of the memory or less, for some time"""
    delete_evicted: bool = False
    """uncount a transition when its frame is evicted; off as in the authors' code"""

    def __post_init__(self) -> None:
        if self.capacity < 2:
            raise UserError(f"capacity {self.capacity}: allowed is 2 or more frames")


@dataclass(frozen=True)
class TrainingConfig:
    """When the model is trained, on what, and how the table follows it."""

    every: int = 4
    """environment steps per training step, after the burn-in; supplement"""
    batch: int = 128
    """samples (o[j-k-1 : j], a_j) per training step; supplement"""
    segment: int = 1
    """consecutive steps per sample: a batch is batch / segment runs of so many. With 1 each step
    is drawn alone, as in the paper; longer ones need fewer encodings; ours"""
    burst: int = 0
    """training steps in a row at the end of the burn-in; ours"""
    reassign: bool = True
    """give the frames of each minibatch their new states (Algorithm 1, lines 20 to 28)"""
    retabulate: int = 0
    """frames that are encoded anew after each training step, going round the whole replay; ours"""
    overlap: bool = False
    """train while the next environment steps are taken, on another core if there is one; what is
    learned from a minibatch is known when the next one is due, the same on every run; ours"""
    freeze_after: int | None = None
    """environment steps after which the model is trained no more; the table goes on"""

    def __post_init__(self) -> None:
        for name in ("every", "batch", "segment"):
            if getattr(self, name) < 1:
                raise UserError(f"{name} {getattr(self, name)}: allowed is 1 or more")
        for name in ("burst", "retabulate", "freeze_after"):
            if (getattr(self, name) or 0) < 0:
                raise UserError(f"{name} {getattr(self, name)}: allowed is 0 or more")
        if self.batch % self.segment:
            raise UserError(f"segment {self.segment}: allowed are divisors of batch {self.batch}")


@dataclass(frozen=True)
class VaSTConfig:
    """The agent of the paper's Algorithm 1."""

    resize: tuple[int, int] | None = None
    """rows and columns to which images are shrunk, by area average, before they are stored and
    learned from; None: as they are; ours"""
    model: ModelConfig = field(default_factory=ModelConfig)
    """from observations to states"""
    replay: ReplayConfig = field(default_factory=ReplayConfig)
    """what is remembered"""
    training: TrainingConfig = field(default_factory=TrainingConfig)
    """when the model is trained"""
    planning: PlanningConfig = field(default_factory=PlanningConfig)
    """how values follow from the table"""
    exploration: ExplorationConfig = field(default_factory=ExplorationConfig)
    """the share of random actions"""
    encode_batch: int = 128
    """as long as actions are random, frames wait until so many can be encoded at once; ours"""
    tabulate_burn_in: bool = True
    """encode during the burn-in with the untrained encoder, as the paper; otherwise wait until
    the burn-in and its burst of training are over, which saves time"""
    last_action: bool = False
    """the action that led to an observation is part of its state, one bit for each; ours"""
    restlessness: float = 0.0
    """each time an action is taken again at the very same observation in one episode, it is held
    for worth less by this share of what it costs to be back there; 0: never, as the paper; ours"""
    restless_by: Sameness = "observation"
    """what is the same again: the observation, or a state, which has many; ours"""
    latent_steps: int = 0
    """environment steps in which rewards are hidden from the agent: latent learning"""

    def __post_init__(self) -> None:
        if self.encode_batch < 1:
            raise UserError(f"encode_batch {self.encode_batch}: allowed is 1 or more frames")
        if not self.restlessness >= 0:
            raise UserError(f"restlessness {self.restlessness}: allowed is 0 or more")
        if self.restless_by not in get_args(Sameness):
            raise unknown("restless_by", self.restless_by, get_args(Sameness))
        if self.latent_steps < 0:
            raise UserError(f"latent_steps {self.latent_steps}: allowed is 0 or more")
        least = self.model.history + 2
        if self.replay.capacity < least:
            raise UserError(
                f"capacity {self.replay.capacity}: allowed is {least} or more frames with a "
                f"history of {self.model.history}"
            )
        if self.tabulate_burn_in and self.model.standardise:
            raise UserError(
                "tabulate_burn_in with standardise: codes mean nothing before the mean is known, "
                "which is at the end of the burn-in; allowed is one of both"
            )
