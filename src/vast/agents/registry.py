"""The agents by name. Classes and configs are imported when first needed, with their libraries."""

from dataclasses import dataclass
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from vast.errors import unknown

if TYPE_CHECKING:
    from vast.agents.base import Agent

PRESETS = {
    "paper": "hyperparameters as published; docs/fidelity.md lists what differs",
    "cpu": "learns in minutes on two cores",
    "debug": "seconds, to see that everything runs",
}


@dataclass(frozen=True)
class AgentSpec:
    """Where to find an agent.

    Its module of presets has a function `preset(name, task, shape)`.
    """

    about: str
    agent: str
    config: str
    presets: str
    extra: str | None = None
    """which extra of the package its search for neighbours requires, but in the preset `debug`"""

    @property
    def agent_class(self) -> "type[Agent]":
        """The agent's class."""
        found: type[Agent] = resolve_name(self.agent)
        return found

    @property
    def config_class(self) -> type[Any]:
        """The class of its config."""
        found: type[Any] = resolve_name(self.config)
        return found

    def preset(self, name: str, task: str | None, shape: tuple[int, ...]) -> Any:
        """Return the config of a preset for a task, or for any other environment if it is None.

        UserError if there is no such preset.
        """
        if name not in PRESETS:
            raise unknown("preset", name, PRESETS)
        return resolve_name(self.presets)(name, task, shape)


AGENTS = {
    "vast": AgentSpec(
        "Variational State Tabulation",
        "vast.agents.vast.agent:VaST",
        "vast.agents.vast.config:VaSTConfig",
        "vast.agents.vast.presets:preset",
    ),
    "lsh": AgentSpec(
        "VaST's planning, with states by fixed random projections",
        "vast.agents.lsh:LSH",
        "vast.agents.lsh:LSHConfig",
        "vast.agents.lsh:preset",
    ),
    "mfec": AgentSpec(
        "Model-Free Episodic Control",
        "vast.agents.mfec:MFEC",
        "vast.agents.mfec:MFECConfig",
        "vast.agents.mfec:preset",
        extra="nec",
    ),
    "nec": AgentSpec(
        "Neural Episodic Control",
        "vast.agents.nec.agent:NEC",
        "vast.agents.nec.config:NECConfig",
        "vast.agents.nec.config:preset",
        extra="nec",
    ),
    "ddqn": AgentSpec(
        "Prioritized Double DQN",
        "vast.agents.ddqn:PrioritizedDDQN",
        "vast.agents.ddqn:PrioritizedDDQNConfig",
        "vast.agents.ddqn:preset",
    ),
}

CONTROLS = {
    "bins": AgentSpec(
        "VaST's planning, with states that are bins of a vector, such as the true state",
        "vast.agents.bins:Bins",
        "vast.agents.bins:BinsConfig",
        "vast.agents.bins:preset",
    ),
}
"""agents that are told what the others have to find out; the task's record says nothing of them"""


IN_PROGRAMS = {
    "table": AgentSpec(
        "VaST's planning, with states by an encoder that a program hands in",
        "vast.agents.table:TableAgent",
        "vast.agents.config:TableConfig",
        "vast.agents.presets:table_preset",
    ),
}
"""agents that no run can have: the shell cannot make their parts"""


def known_agents() -> dict[str, AgentSpec]:
    """Return all agents that runs can have, by name."""
    return {**AGENTS, **CONTROLS}


def agent_named(name: str) -> AgentSpec:
    """Return an agent by its name; UserError if there is none."""
    known = known_agents()
    if name not in known:
        raise unknown("agent", name, known)
    return known[name]
