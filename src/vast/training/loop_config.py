"""When a run is tested and logged."""

from dataclasses import dataclass

from vast.checks import at_least, fraction


@dataclass(frozen=True)
class LoopConfig:
    """When the loop tests and logs, in environment steps."""

    eval_every: int = 25_000
    """between two test epochs; supplement, 'Extended sample efficiency results'"""
    eval_steps: int = 1000
    """of a test epoch; supplement"""
    eval_epsilon: float = 0.05
    """share of random actions in a test epoch; supplement"""
    log_every: int = 1000
    """between two rows of metrics"""

    def __post_init__(self) -> None:
        at_least(
            1, eval_every=self.eval_every, eval_steps=self.eval_steps, log_every=self.log_every
        )
        fraction(eval_epsilon=self.eval_epsilon)
