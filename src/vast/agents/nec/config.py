"""Every number of the NEC agent; the defaults are the paper's, for 3D navigation."""

from dataclasses import dataclass, field

from vast.agents.checks import at_least, discounted, positive, share
from vast.errors import UserError
from vast.model.config import NetworkConfig
from vast.training.exploration import ExplorationConfig


@dataclass(frozen=True)
class NECConfig:
    """The embedding, the dictionaries, returns, training, exploration."""

    embedding: int = 64
    """dimensions of a key; supplement, 'NEC'"""
    neighbours: int = 50
    """nearest entries that a value is read from; supplement, 'NEC'"""
    kernel_offset: float = 1e-3
    """delta of the kernel 1 / (distance^2 + delta); Pritzel et al. 2017"""
    capacity: int = 500_000
    """entries of each action's dictionary, of which the least recently used gives way; supplement,
    'NEC'"""
    n_steps: int = 50
    """N, rewards that a return is made of before it bootstraps; supplement, 'NEC'"""
    tabular_rate: float = 0.1
    """alpha, by how much a stored value moves to the return of a state met again; supplement"""
    discount: float = 0.99
    """gamma; supplement, 'Hyperparameters'"""
    replay: int = 500_000
    """frames in the replay memory; supplement, 'Hyperparameters'"""
    compressed: bool = False
    """keep frames compressed, for less memory and more time; ours"""
    history: int = 0
    """k, earlier frames that the network sees beside the current one; paper, section 2"""
    network: NetworkConfig = field(default_factory=NetworkConfig)
    """the layers before the embedding, as VaST's encoder has; supplement"""
    resize: tuple[int, int] | None = None
    """rows and columns to which images are shrunk by area average; None: as they are"""
    standardise_after: int | None = None
    """steps after which the network is shown (x - mean) / std of what was seen until then; None:
    never; ours. What was stored before has keys that mean little afterwards"""
    batch: int = 32
    """samples of a minibatch; supplement, 'NEC'"""
    train_interval: int = 4
    """steps of the environment per minibatch; supplement, 'Hyperparameters'"""
    learning_rate: float = 5e-5
    """of Adam, for the network; supplement, 'NEC'"""
    betas: tuple[float, float] = (0.9, 0.999)
    """of Adam; supplement"""
    epsilon: float = 1e-8
    """of Adam; supplement"""
    memory_rate: float = 0.01
    """by which keys and values of the neighbours follow the gradient of each lookup's squared
    error; ours: Pritzel et al. say only that it is lower than alpha"""
    exploration: ExplorationConfig = field(default_factory=ExplorationConfig)
    """the schedule of the share of random actions"""

    def __post_init__(self) -> None:
        at_least(1, embedding=self.embedding, neighbours=self.neighbours, capacity=self.capacity)
        at_least(1, n_steps=self.n_steps, batch=self.batch, train_interval=self.train_interval)
        at_least(0, history=self.history)
        if self.standardise_after is not None:
            at_least(1, standardise_after=self.standardise_after)
        positive(
            kernel_offset=self.kernel_offset,
            learning_rate=self.learning_rate,
            epsilon=self.epsilon,
        )
        share(tabular_rate=self.tabular_rate, memory_rate=self.memory_rate)
        discounted(self.discount)
        least = self.n_steps + self.history + 2
        if self.replay < least:
            raise UserError(
                f"replay {self.replay}: allowed is {least} or more, "
                f"with n_steps {self.n_steps} and history {self.history}"
            )
