"""The hyperparameters of VaST; the defaults are the paper's, for 3D navigation.

Fields whose description ends with "ours" are not in the paper. Those in `ExtensionsConfig` change
the agent's states, its table or its decisions, and are off by default; the others concern how fast
and on which input the same algorithm runs.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, get_args

from vast.agents.config import Planner
from vast.checks import at_least, below_one, fits, not_negative, one_of, positive
from vast.errors import UserError
from vast.model.config import ModelConfig
from vast.replay.resizing import Pooling
from vast.training.exploration import ExplorationConfig

Queue = Literal["bucketed", "exact"]
Sameness = Literal["observation", "state"]


@dataclass(frozen=True)
class ExtensionsConfig:
    """What is ours and not the paper's; all off by default."""

    plain_omits_defaults: ClassVar[bool] = True

    last_action: bool = False
    """make the action that led to an observation part of its state, one bit per action"""
    last_action_count: int = 1
    """with last_action, how many of the last actions, each with bits of its own"""
    repeat_penalty: float = 0.0
    """each time an action is repeated at the same observation within an episode, lower its value by
    this share of the cost of being back there; 0: never"""
    repeat_by: Sameness = "observation"
    """what counts as a repetition: the same observation, or the same state"""
    smoothing: float = 0.0
    """bits beyond the nearest state at which another one counts 1/e as much in the estimate of Q;
    0: only the nearest states count, the state itself where the action was taken"""
    smooth_learning: bool = True
    """smooth the values by which the learning agent acts, too"""
    caution: float = 0.0
    """standard errors by which values are lowered when the agent acts without learning; 0: none"""
    cautious_learning: bool = False
    """lower the values by which the learning agent acts, too"""
    reward_horizon: float | None = None
    """steps after which a reward counts 1/e as much in E[r|s,a] as a new one; None: all rewards
    count alike"""
    reward_width: float = 0.0
    """bits over which the reward at the end of an episode carries over to nearby states; requires
    reward_horizon; 0: none"""
    change_point: float | None = None
    """share of the latest episode ends that must contradict what nearby ends predicted for all
    older ones to be forgotten; requires reward_width; None: nothing is forgotten"""
    outcome_shift: int | None = None
    """bits; if an action leads farther than this from wherever it led before, its earlier outcomes
    in that state are forgotten; None: never"""

    def __post_init__(self) -> None:
        not_negative(
            repeat_penalty=self.repeat_penalty,
            smoothing=self.smoothing,
            caution=self.caution,
            reward_width=self.reward_width,
            outcome_shift=self.outcome_shift,
        )
        at_least(1, last_action_count=self.last_action_count)
        if self.last_action_count > 1 and not self.last_action:
            raise UserError("last_action_count above 1 requires last_action")
        one_of(get_args(Sameness), repeat_by=self.repeat_by)
        positive(reward_horizon=self.reward_horizon)
        if self.reward_width and self.reward_horizon is None:
            raise UserError("reward_width requires reward_horizon")
        if self.change_point is not None and not 0 < self.change_point <= 1:
            raise UserError(f"change_point must be above 0 and at most 1, got {self.change_point}")
        if self.change_point is not None and not self.reward_width:
            raise UserError("change_point requires reward_width")


EXTENSIONS = (
    "vast.agents.vast.extensions.last_action_bits:LastActionBits",
    "vast.agents.vast.extensions.smoothing:Smoothing",
    "vast.agents.vast.extensions.repeat_penalty:RepeatPenalty",
    "vast.agents.vast.extensions.recent_rewards:RecentRewards",
    "vast.agents.vast.extensions.outcome_shift:OutcomeShift",
)
"""the extensions there are; each is built if its fields above are on"""


@dataclass(frozen=True)
class PlanningConfig:
    """How values follow from the table."""

    discount: float = 0.99
    """gamma; supplement, 'Hyperparameters'"""
    min_priority: float = 5e-5
    """p_min: a state whose |U - V| is smaller is not queued; supplement"""
    planner: Planner = "inline"
    """inline: deterministic; background: in a thread of its own, as the paper's process"""
    backups_per_step: int = 10_000
    """budget of inline planning after each environment step; ours (the paper's process did about
    6000 backups per second)"""
    backups_per_training: int = 10_000
    """additional budget after each training step; ours"""
    neighbours: bool = True
    """let an action never taken in a state borrow its value from the nearest states; otherwise its
    value is 0, for comparison only"""
    queue: Queue = "bucketed"
    """order of backups: approximately by priority, and fast, or exactly as in the paper; ours"""

    def __post_init__(self) -> None:
        below_one(discount=self.discount)
        positive(min_priority=self.min_priority)
        one_of(get_args(Planner), planner=self.planner)
        one_of(get_args(Queue), queue=self.queue)
        at_least(
            0,
            backups_per_step=self.backups_per_step,
            backups_per_training=self.backups_per_training,
        )


@dataclass(frozen=True)
class ReplayConfig:
    """The replay memory."""

    capacity: int = 500_000
    """N, frames; supplement (1 000 000 for Pong)"""
    compressed: bool = False
    """store frames compressed: a third of the memory or less, for some time; ours"""
    delete_evicted: bool = False
    """delete a transition from the table when its frame is evicted; off as in the authors' code"""

    def __post_init__(self) -> None:
        at_least(2, capacity=self.capacity)
        fits(capacity=self.capacity)


@dataclass(frozen=True)
class TrainingConfig:
    """When the model is trained, on what, and how the table follows it."""

    every: int = 4
    """environment steps per training step, after the burn-in; supplement"""
    batch: int = 128
    """samples (o[j-k-1 : j], a_j) per training step; supplement"""
    segment: int = 1
    """consecutive steps per sample: a batch consists of batch / segment segments. 1: each step is
    drawn on its own, as in the paper; longer segments need fewer encodings; ours"""
    burst: int = 0
    """training steps in a row at the end of the burn-in; ours"""
    reassign: bool = True
    """give the frames of each minibatch their new states (Algorithm 1)"""
    retabulate: int = 0
    """frames to encode again after each training step, going round the whole replay; ours"""
    overlap: bool = False
    """train while the next environment steps are taken, on another core if there is one; the result
    of a minibatch is used when the next one is due, so that runs stay deterministic; ours"""
    process: bool = False
    """with overlap, train in a process of its own instead of a thread: faster, and the same to the
    last bit; ours"""
    freeze_after: int | None = None
    """environment steps after which the model is no longer trained, while the table goes on; with
    retabulate, every stored frame is then encoded again; ours"""

    def __post_init__(self) -> None:
        at_least(1, every=self.every, batch=self.batch, segment=self.segment)
        at_least(0, burst=self.burst, retabulate=self.retabulate)
        at_least(0, freeze_after=self.freeze_after or 0)
        if self.batch % self.segment:
            raise UserError(
                f"segment must be a divisor of batch, which is {self.batch}, got {self.segment}"
            )


@dataclass(frozen=True)
class VaSTConfig:
    """The agent of the paper's Algorithm 1."""

    resize: tuple[int, int] | None = None
    """rows and columns to which images are shrunk as they arrive; None: as they are; ours"""
    pooling: Pooling = "mean"
    """how they are shrunk: mean, by area, or max, which keeps what is small and bright; ours"""
    model: ModelConfig = field(default_factory=ModelConfig)
    """from observations to states"""
    replay: ReplayConfig = field(default_factory=ReplayConfig)
    """the replay memory"""
    training: TrainingConfig = field(default_factory=TrainingConfig)
    """when the model is trained"""
    planning: PlanningConfig = field(default_factory=PlanningConfig)
    """how values follow from the table"""
    exploration: ExplorationConfig = field(default_factory=ExplorationConfig)
    """the share of random actions"""
    encode_batch: int = 128
    """while actions are random, frames wait until this many can be encoded at once; ours"""
    tabulate_burn_in: bool = True
    """encode during the burn-in with the untrained encoder, as the paper; otherwise wait until the
    burn-in and its burst of training are over, which saves time"""
    latent_steps: int = 0
    """environment steps in which rewards are hidden from the agent: latent learning"""
    extensions: ExtensionsConfig = field(default_factory=ExtensionsConfig)
    """what is ours and not the paper's; `()` turns all of it off"""

    def __post_init__(self) -> None:
        given: Any = self.extensions
        if given in ((), []):  # plain VaST, as it may be written
            object.__setattr__(self, "extensions", ExtensionsConfig())
        elif not isinstance(given, ExtensionsConfig):
            raise UserError(f"extensions must be an ExtensionsConfig, got {given!r}")
        one_of(get_args(Pooling), pooling=self.pooling)
        at_least(1, encode_batch=self.encode_batch)
        at_least(0, latent_steps=self.latent_steps)
        least = self.model.history + 2
        if self.replay.capacity < least:
            raise UserError(
                f"capacity must be at least {least} frames with a history of "
                f"{self.model.history}, got {self.replay.capacity}"
            )
        if self.tabulate_burn_in and self.model.standardise:
            raise UserError(
                "standardise requires tabulate_burn_in to be off: the mean, without which codes "
                "mean nothing, is known only at the end of the burn-in"
            )
        ours = self.extensions
        if (ours.smoothing or ours.caution) and not self.planning.neighbours:
            raise UserError("smoothing and caution require neighbours")

    @property
    def history(self) -> int:
        """k, earlier frames that the encoder sees beside the current one."""
        return self.model.history
