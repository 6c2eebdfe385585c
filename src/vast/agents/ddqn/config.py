"""Every number of Prioritized Double DQN; the defaults are the paper's, for 3D navigation."""

from dataclasses import dataclass, field

from vast.agents.checks import at_least, discounted, positive, share
from vast.errors import UserError
from vast.model.config import NetworkConfig
from vast.training.exploration import ExplorationConfig


@dataclass(frozen=True)
class PrioritizedDDQNConfig:
    """The network, the replay and its priorities, training, exploration."""

    alpha: float = 0.7
    """exponent of 1 / rank in the probability of a sample; 0: all alike; supplement"""
    first_beta: float = 0.5
    """exponent of the importance weights at first; supplement"""
    final_beta: float = 1.0
    """exponent of the importance weights in the end; supplement"""
    beta_steps: int = 1_000_000
    """steps after burn-in in which beta goes from first to final, linearly; the paper has "over the
    course of training", which here has no end that is known beforehand"""
    target_interval: int = 2000
    """steps of the environment after which the target network is copied anew; supplement"""
    discount: float = 0.99
    """gamma; supplement, 'Hyperparameters'"""
    replay: int = 500_000
    """frames in the replay memory; supplement, 'Hyperparameters'"""
    compressed: bool = False
    """keep frames compressed, for less memory and more time; ours"""
    history: int = 0
    """k, earlier frames that the network sees beside the current one; paper, section 2"""
    network: NetworkConfig = field(default_factory=NetworkConfig)
    """the layers before the Q-values, as VaST's encoder has; supplement"""
    resize: tuple[int, int] | None = None
    """rows and columns to which images are shrunk by area average; None: as they are"""
    standardise_after: int | None = None
    """steps after which the network is shown (x - mean) / std of what was seen until then; None:
    never; ours"""
    batch: int = 32
    """samples of a minibatch; supplement"""
    train_interval: int = 4
    """steps of the environment per minibatch; supplement, 'Hyperparameters'"""
    learning_rate: float = 1e-4
    """of Adam; supplement"""
    betas: tuple[float, float] = (0.9, 0.999)
    """of Adam; supplement"""
    epsilon: float = 1e-8
    """of Adam; supplement"""
    max_error: float = 1.0
    """temporal-difference errors beyond this count linearly, not as squares; Mnih et al. 2015"""
    exploration: ExplorationConfig = field(default_factory=ExplorationConfig)
    """the schedule of the share of random actions"""

    def __post_init__(self) -> None:
        at_least(1, batch=self.batch, train_interval=self.train_interval)
        at_least(1, target_interval=self.target_interval, beta_steps=self.beta_steps)
        at_least(0, history=self.history)
        if self.standardise_after is not None:
            at_least(1, standardise_after=self.standardise_after)
        positive(learning_rate=self.learning_rate, epsilon=self.epsilon, max_error=self.max_error)
        share(first_beta=self.first_beta, final_beta=self.final_beta, alpha=self.alpha)
        discounted(self.discount)
        if self.replay < self.history + 2:
            raise UserError(
                f"replay {self.replay}: allowed is {self.history + 2} or more, "
                f"with history {self.history}"
            )

    def beta_at(self, step: int) -> float:
        """Return beta after so many steps of the environment."""
        done = min(max(step - self.exploration.burn_in, 0) / self.beta_steps, 1.0)
        return self.first_beta + done * (self.final_beta - self.first_beta)
