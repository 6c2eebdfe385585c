"""What each agent spends its time on, and how its decisions slow down as its memory grows.

All agents take turns in one plus-maze, at the network size of the paper and with the `cpu` preset,
so that whatever else the machine does slows all alike; numbers are medians over the turns. A
decision is all that an agent does for one step of the environment but training: it looks at the
frame, remembers it, plans if it plans, and chooses greedily. For the growth, memories are filled
with what it saw in the maze, each entry a little changed; large ones are inverted as in `paper`.

    python -m benchmarks.agents [--json FILE] [--entries 1000 10000 100000 500000] [--turns 5]
"""

from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import numpy as np
import tyro

from benchmarks.growth import growth
from benchmarks.report import machine, report_console, show, write_json
from benchmarks.stopwatch import Stopwatch
from vast.agents.registry import KINDS
from vast.envs.tasks import make_env
from vast.training.actor import spaces_of
from vast.training.exploration import ExplorationConfig
from vast.training.protocol import Agent, Env
from vast.training.threads import limited_threads

TASK = "plus-maze"
BURN_IN = 200
NETWORK = {
    "vast": ("tabulator.encode", "tabulator.train", "tabulator.train_and_encode"),
    "lsh": ("encode",),
    "mfec": ("embed",),
    "nec": ("network.outputs", "network.forward", "_adam.descend"),
    "ddqn": ("network.outputs", "td_errors", "_adam.descend"),
}
"""the methods of each mind that are its network, or its projection; all else is its memory"""


def greedy_config(name: str, preset: str) -> Any:
    """Return a preset that acts greedily and trains at its usual pace after a short burn-in."""
    kind, env = KINDS[name], make_env(TASK)
    config = kind.preset(preset, TASK, spaces_of(env).shape)
    env.close()
    config = replace(config, exploration=ExplorationConfig(BURN_IN, 0.0, 0.0, 0))
    if name == "vast":
        training = replace(config.training, burst=0, overlap=False)
        return replace(config, training=training)
    if getattr(config, "standardise_after", None) is not None:
        return replace(config, standardise_after=BURN_IN)
    return config


class Subject:
    """An agent under observation."""

    def __init__(self, name: str, preset: str, env: Env) -> None:
        self.name, self.preset, self.env = name, preset, env
        self.config = greedy_config(name, preset)
        self.mind: Agent = KINDS[name].make(spaces_of(env), self.config, np.random.SeedSequence(0))
        self.watch = Stopwatch()
        for place in NETWORK[name]:
            self.watch.over(self.mind, place, "network")
        self.turns: list[dict[str, float]] = []

    def live(self, steps: int) -> None:
        """Live so many steps, in episodes of its own, and note what they took."""
        self.watch.clear()
        mind, env, watch, trainings = self.mind, self.env, self.watch, 0
        ended = True
        for _ in range(steps):
            with watch.timing("environment"):
                seen = env.reset(seed=mind.steps)[0] if ended else None
            with watch.timing("deciding"):
                if seen is not None:
                    mind.begin(seen)
                action = mind.decide()
            with watch.timing("environment"):
                seen, reward, terminated, truncated, _ = env.step(np.int64(action))
            with watch.timing("deciding"):
                mind.observe(action, float(reward), seen, terminated, truncated)
            before = mind.facts().get("trainings", 0)
            with watch.timing("training"):
                while mind.train():
                    pass
            trainings += int(mind.facts().get("trainings", 0) - before)
            ended = bool(terminated or truncated)
        if not ended:
            mind.cut()
        self._note(steps, trainings)

    def _note(self, steps: int, trainings: int) -> None:
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
        numbers = {name: median(turn[name] for turn in self.turns) for name in self.turns[0]}
        measured = {name: value for name, value in numbers.items() if not np.isnan(value)}
        return {"preset": self.preset, "agent": self.name, **measured}


def times(agents: tuple[str, ...], presets: tuple[str, ...], turns: int, steps: int) -> list[Any]:
    env = make_env(TASK)
    subjects = [Subject(name, preset, env) for preset in presets for name in agents]
    for subject in subjects:
        subject.live(BURN_IN + 2 * steps)  # compiles what is compiled, and is not counted
        subject.turns.clear()
    for _ in range(turns):
        for subject in subjects:
            subject.live(steps)
    for subject in subjects:
        subject.mind.close()
    env.close()
    return [subject.row() for subject in subjects]


def main(
    agents: Annotated[tuple[str, ...], tyro.conf.arg(help="which agents")] = tuple(KINDS),
    presets: Annotated[tuple[str, ...], tyro.conf.arg(help="which presets")] = ("paper", "cpu"),
    entries: Annotated[tuple[int, ...], tyro.conf.arg(help="sizes of the memory")] = (
        1000,
        10_000,
        100_000,
        500_000,
    ),
    turns: Annotated[int, tyro.conf.arg(help="how often each agent has its turn")] = 5,
    steps: Annotated[int, tyro.conf.arg(help="environment steps of a turn")] = 40,
    json: Annotated[Path | None, tyro.conf.arg(help="also write the numbers to this file")] = None,
) -> None:
    console = report_console()
    report: dict[str, Any] = {"machine": machine("torch", "numpy", "vizdoom"), "task": TASK}
    with limited_threads(1):
        report["times"] = times(agents, presets, turns, steps)
        show(console, f"one step of {TASK}, one thread", report["times"])
        report["growth"] = growth(TASK, list(agents), entries, turns)
        show(console, "one decision by the size of the memory, cpu preset", report["growth"])
    if json is not None:
        write_json(report, json)


if __name__ == "__main__":
    tyro.cli(main)
