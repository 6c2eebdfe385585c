"""The agents there are, by name: their minds, configs and presets."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import Any

import numpy as np

from vast.agents.ddqn import presets as ddqn_presets
from vast.agents.ddqn.config import PrioritizedDDQNConfig
from vast.agents.lsh import presets as lsh_presets
from vast.agents.lsh.config import LSHConfig
from vast.agents.mfec import presets as mfec_presets
from vast.agents.mfec.config import MFECConfig
from vast.agents.nec import presets as nec_presets
from vast.agents.nec.config import NECConfig
from vast.agents.vast import presets as vast_presets
from vast.agents.vast.config import VaSTConfig
from vast.errors import unknown
from vast.training.actor import Spaces
from vast.training.protocol import Agent

Preset = Callable[[str | None, tuple[int, ...]], Any]
"""from a task's name (None: somebody's own environment) and an observation's shape to a config"""


@dataclass(frozen=True)
class Kind:
    """A kind of agent."""

    about: str
    config: type[Any]
    mind: str
    """where the class is; imported when first needed, with all the networks and kernels"""
    presets: Mapping[str, Preset]

    def preset(self, name: str, task: str | None, shape: tuple[int, ...]) -> Any:
        """Return the config of a preset; UserError if there is none of that name."""
        if name not in self.presets:
            raise unknown("preset", name, self.presets)
        return self.presets[name](task, shape)

    def make(self, spaces: Spaces, config: Any, seed: np.random.SeedSequence) -> Agent:
        """Return a new agent for an environment."""
        mind: Callable[..., Agent] = resolve_name(self.mind)
        return mind(spaces.shape, spaces.dtype, spaces.n_actions, config, seed)


KINDS = {
    "vast": Kind(
        "Variational State Tabulation",
        VaSTConfig,
        "vast.agents.vast.mind:VaSTMind",
        vast_presets.PRESETS,
    ),
    "lsh": Kind(
        "VaST's planning, with states by fixed random projections",
        LSHConfig,
        "vast.agents.lsh.mind:LSHMind",
        lsh_presets.PRESETS,
    ),
    "mfec": Kind(
        "Model-Free Episodic Control",
        MFECConfig,
        "vast.agents.mfec.mind:MFECMind",
        mfec_presets.PRESETS,
    ),
    "nec": Kind(
        "Neural Episodic Control",
        NECConfig,
        "vast.agents.nec.mind:NECMind",
        nec_presets.PRESETS,
    ),
    "ddqn": Kind(
        "Prioritized Double DQN",
        PrioritizedDDQNConfig,
        "vast.agents.ddqn.mind:PrioritizedDDQNMind",
        ddqn_presets.PRESETS,
    ),
}


def kind_named(name: str) -> Kind:
    """Return a kind of agent; UserError if there is none of that name."""
    if name not in KINDS:
        raise unknown("agent", name, KINDS)
    return KINDS[name]
