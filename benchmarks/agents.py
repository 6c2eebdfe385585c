"""What each agent spends its time on, and how its decisions slow down as its memory grows.

All agents take turns in one plus-maze, with the presets `paper` and `cpu`, so other work on the
machine slows all of them; results are medians over the turns. A decision is all that an agent does
for one environment step except training: it encodes and stores the frame, plans if it is a
planner, and chooses greedily. For the growth, memories are filled with observations of the maze,
each slightly changed, and searched by inverted files as in `paper`. At last, what a step of the
baselines costs late in a long run (`benchmarks/full_memories.py`).

    python -m benchmarks.agents [--json FILE] [--entries 1000 10000 100000 500000] [--turns 5]
"""

from pathlib import Path
from statistics import median
from typing import Annotated, Any

import numpy as np
import tyro

from benchmarks import full_memories
from benchmarks.growth import growth
from benchmarks.report import machine, report_console, show, write_json
from benchmarks.stopwatch import Stopwatch
from vast.agents.registry import AGENTS, agent_named
from vast.tasks import make_env
from vast.training.plain import with_changes
from vast.training.protocol import Env
from vast.training.spaces import spaces_of
from vast.training.threads import limited_threads

TASK = "plus-maze"
BURN_IN = 200
NETWORK = {
    "vast": ("encoder.encode", "encoder.train", "encoder.train_and_encode"),
    "lsh": ("encoder.encode",),
    "mfec": ("embed",),
    "nec": ("network.outputs", "network.forward", "_optimiser.descend"),
    "ddqn": ("network.outputs", "td_errors", "_optimiser.descend"),
}
"""the methods that run each agent's network or projection; all else is its memory"""


GREEDY = {
    "exploration.burn_in": BURN_IN,
    "exploration.first": 0.0,
    "exploration.final": 0.0,
    "exploration.anneal_steps": 0,
}


def greedy_config(name: str, preset: str, shape: tuple[int, ...]) -> Any:
    """Return a preset that acts greedily and trains at its usual rate after a short burn-in."""
    config = with_changes(agent_named(name).preset(preset, TASK, shape), GREEDY)
    if name == "vast":
        return with_changes(config, {"training.burst": 0, "training.overlap": False})
    if getattr(config, "standardise_after", None) is not None:
        return with_changes(config, {"standardise_after": BURN_IN})
    return config


class Subject:
    """An agent whose steps are timed."""

    def __init__(self, name: str, preset: str, env: Env) -> None:
        self.name, self.preset, self.env = name, preset, env
        spaces = spaces_of(env)
        config = greedy_config(name, preset, spaces.shape)
        self.agent = agent_named(name).agent_class(spaces, config=config)
        self.watch = Stopwatch()
        for path in NETWORK[name]:
            self.watch.over(self.agent, path, "network")
        self.turns: list[dict[str, float]] = []

    def take_turn(self, steps: int) -> None:
        """Train for this many steps, in new episodes, and record how long they took."""
        self.watch.clear()
        agent, env, watch = self.agent, self.env, self.watch
        trainings = self._training_steps()
        ended = True
        for _ in range(steps):
            with watch.timing("environment"):
                first = env.reset(seed=agent.steps)[0] if ended else None
            with watch.timing("deciding"):
                if first is not None:
                    agent.begin(first)
                action = agent.decide()
            with watch.timing("environment"):
                observation, reward, terminated, truncated, _ = env.step(np.int64(action))
            with watch.timing("deciding"):
                agent.observe(action, float(reward), observation, terminated, truncated)
            with watch.timing("training"):
                while agent.train():
                    pass
            ended = bool(terminated or truncated)
        if not ended:
            agent.cut()
        self._record(steps, int(self._training_steps() - trainings))

    def _training_steps(self) -> float:
        return self.agent.progress_stats().get("training steps", 0)

    def _record(self, steps: int, trainings: int) -> None:
        seconds = self.watch.total
        of_agent = seconds("deciding", "training")
        network = seconds("network")
        whole = of_agent + seconds("environment")
        self.turns.append(
            {
                "ms_per_decision": 1000 * seconds("deciding") / steps,
                "ms_per_training": 1000 * seconds("training") / trainings if trainings else np.nan,
                "environment_share": seconds("environment") / whole,
                "network_share": network / whole,
                "memory_share": (of_agent - network) / whole,
            }
        )

    def row(self) -> dict[str, Any]:
        """Return the medians over its turns."""
        medians = {name: median(turn[name] for turn in self.turns) for name in self.turns[0]}
        measured = {name: value for name, value in medians.items() if not np.isnan(value)}
        return {"preset": self.preset, "agent": self.name, **measured}


def times(agents: tuple[str, ...], presets: tuple[str, ...], turns: int, steps: int) -> list[Any]:
    env = make_env(TASK)
    subjects = [Subject(name, preset, env) for preset in presets for name in agents]
    for subject in subjects:
        subject.take_turn(BURN_IN + 2 * steps)  # a warm-up, which also compiles
        subject.turns.clear()
    for _ in range(turns):
        for subject in subjects:
            subject.take_turn(steps)
    for subject in subjects:
        subject.agent.close()
    env.close()
    return [subject.row() for subject in subjects]


def main(
    agents: Annotated[tuple[str, ...], tyro.conf.arg(help="which agents")] = tuple(AGENTS),
    presets: Annotated[tuple[str, ...], tyro.conf.arg(help="which presets")] = ("paper", "cpu"),
    entries: Annotated[tuple[int, ...], tyro.conf.arg(help="sizes of the memory")] = (
        1000,
        10_000,
        100_000,
        500_000,
    ),
    turns: Annotated[int, tyro.conf.arg(help="turns that each agent takes")] = 5,
    steps: Annotated[int, tyro.conf.arg(help="environment steps of a turn")] = 40,
    json: Annotated[Path | None, tyro.conf.arg(help="also write the results to this file")] = None,
) -> None:
    console = report_console()
    report: dict[str, Any] = {"machine": machine("torch", "numpy", "vizdoom"), "task": TASK}
    with limited_threads(1):
        report["times"] = times(agents, presets, turns, steps)
        show(console, f"one step of {TASK}, one thread", report["times"])
        report["growth"] = growth(TASK, list(agents), entries, turns)
        show(console, "one decision by the size of the memory, cpu preset", report["growth"])
        report["full"] = full_memories.full(turns)
        show(console, f"one step late in {full_memories.TASK}, one thread", report["full"])
    if json is not None:
        write_json(report, json)


if __name__ == "__main__":
    tyro.cli(main)
