"""Everything that a run depends on, saved with it."""

from dataclasses import dataclass, field
from typing import Any

from vast.agents.config import require_parts
from vast.agents.registry import agent_named
from vast.checks import at_least, between
from vast.experiments.interventions import parse_intervention
from vast.experiments.own_env import AbsentEnv, OwnEnv
from vast.tasks import Scale, make_env, task_named
from vast.training.device import CPU, device_name
from vast.training.loop_config import LoopConfig
from vast.training.protocol import Env, Intervention

MOST_THREADS = 1024
"""more than any machine has use for"""


@dataclass(frozen=True)
class RunConfig:
    """One run: an agent, a task, a seed, and every hyperparameter."""

    task: str
    """one of `vast tasks`, the name of a .maze file, or gym:ENV_ID"""
    agent: str
    """which agent"""
    preset: str
    """from which its hyperparameters were taken"""
    seed: int
    """the source of all randomness in the run"""
    steps: int
    """environment steps in all; the only field that may change when a run is resumed"""
    settings: Any
    """the agent's own config"""
    wad: str | None = None
    """a map file of the user's own instead of the task's; the Doom task's rules apply there"""
    wad_sha256: str | None = None
    """of this file, when it was copied into the run directory; None if it was not, as once"""
    map: str | None = None
    """the map in it"""
    interventions: tuple[str, ...] = ()
    """what happens when, as STEP:WHAT; WHAT is reverse, map=NAME or run=NAME"""
    threads: int = 1
    """of torch and NumPy; with another number, sums differ in their last digits"""
    device: str = CPU
    """of the networks: cpu, cuda, mps or auto; a run may be resumed on another one"""
    loop: LoopConfig = field(default_factory=LoopConfig)
    """test epochs and rows of metrics"""
    own_env: OwnEnv | None = None
    """if a program made the environment of the run, and the shell cannot"""

    def __post_init__(self) -> None:
        if self.own_env is None:
            task_named(self.task)
        agent_named(self.agent)
        at_least(0, seed=self.seed)
        at_least(1, steps=self.steps)
        between(1, MOST_THREADS, threads=self.threads)
        object.__setattr__(self, "device", device_name(self.device))
        planned_interventions(self.interventions)

    def require_parts(self) -> None:
        """Raise UserError if its task or agent requires an extra that is not installed."""
        if self.own_env is None:
            task_named(self.task).require_parts()
        require_parts(self.settings)

    def make_env(self, *, film: bool = False) -> Env:
        """Return a new environment of the run; one that cannot be made says so when it is used."""
        if self.own_env is not None:
            return AbsentEnv(self.own_env)
        return make_env(self.task, self.wad, self.map, film=film)


def planned_interventions(texts: tuple[str, ...]) -> list[tuple[int, Intervention]]:
    """Return interventions and their steps from their texts, in the order of the steps."""
    return sorted(map(parse_intervention, texts), key=lambda planned: planned[0])


def default_run(task: str, agent: str, preset: str) -> RunConfig:
    """Return the run that a task, an agent and a preset stand for."""
    record = task_named(task)
    settings = agent_named(agent).preset(preset, record.name, record.shape)
    scale = record.scale(preset)
    wad = task if record.is_own_maze else None
    loop = loop_of(scale)
    return RunConfig(record.name, agent, preset, 0, scale.steps, settings, wad, loop=loop)


def loop_of(scale: Scale) -> LoopConfig:
    """Return when a run of this scale is tested and logged."""
    return LoopConfig(scale.eval_every, scale.eval_steps, log_every=scale.log_every)
