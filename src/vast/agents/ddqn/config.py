"""Every number of Prioritized Double DQN; the defaults are the paper's, for 3D navigation."""

from dataclasses import dataclass

from vast.agents.checks import at_least, positive, share
from vast.agents.config import LearnerConfig


@dataclass(frozen=True)
class PrioritizedDDQNConfig(LearnerConfig):
    """The priorities, and the target network."""

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
    max_error: float = 1.0
    """temporal-difference errors beyond this count linearly, not as squares; Mnih et al. 2015"""

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(1, target_interval=self.target_interval, beta_steps=self.beta_steps)
        positive(max_error=self.max_error)
        share(first_beta=self.first_beta, final_beta=self.final_beta, alpha=self.alpha)

    def beta_at(self, step: int) -> float:
        """Return beta after so many steps of the environment."""
        done = min(max(step - self.exploration.burn_in, 0) / self.beta_steps, 1.0)
        return self.first_beta + done * (self.final_beta - self.first_beta)
