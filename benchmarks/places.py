"""How well an agent's states tell places apart, and which values it gives them.

    vast train h-maze --steps 150000 --out runs/h-maze
    python -m benchmarks.places runs/h-maze

The agent walks through its maze. At each step its place is estimated from its state alone, as the
mean of the places that had the nearest states in other episodes. The error is the distance from
the true place. The results go to results/places/TASK.json and docs/images/places-TASK.png.
"""

from contextlib import closing
from itertools import count, islice
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import tyro
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from numpy.typing import NDArray
from rich.console import Console

from benchmarks.report import machine, show, write_json
from vast.agents.table import TableAgent
from vast.analysis.drawing import save
from vast.analysis.value_map import colour_bar, colours_for, draw_arrows, draw_plan, extent
from vast.envs.doom.world import FloorPlan
from vast.experiments.runs import open_readonly
from vast.tasks import make_env, task_named
from vast.training.plain import to_plain
from vast.training.protocol import Env
from vast.training.rollout import rollout

STEPS = 3000
EPSILON = 0.05
NEAREST = 5
"""states from which a place is estimated"""
STRIP = 200.0
"""map units; the report has one row per strip of this width"""


class Walk(NamedTuple):
    """Where the agent was at each step, and what it made of that."""

    poses: NDArray[np.float64]
    """[n, 3], x and y in map units, heading in degrees"""
    states: NDArray[np.uint64]
    values: NDArray[np.float64]
    """of the best action"""
    episodes: NDArray[np.int64]


def walk(agent: TableAgent, env: Env, seed: int, steps: int = STEPS) -> Walk:
    """Let an agent walk through an environment."""
    policy = agent.policy(EPSILON, seed)
    poses, states, values, episodes = [], [], [], []
    for step in islice(rollout(policy, env, count()), steps):
        poses.append((step.info["x"], step.info["y"], step.info["angle"]))
        states.append(policy.state())
        values.append(policy.q_values().max())
        episodes.append(step.episode)
    return Walk(np.array(poses), np.array(states, np.uint64), np.array(values), np.array(episodes))


def errors(walked: Walk) -> NDArray[np.float64]:
    """Return the error of each place that is estimated from the states of other episodes."""
    found = []
    places = walked.poses[:, :2]
    for place, state, episode in zip(places, walked.states, walked.episodes, strict=True):
        distances = np.bitwise_count(walked.states ^ state).astype(np.int64)
        distances[walked.episodes == episode] = np.iinfo(np.int64).max
        nearest = np.argsort(distances, kind="stable")[:NEAREST]
        found.append(np.hypot(*(places[nearest].mean(0) - place)))
    return np.array(found)


def strips(walked: Walk, wrong: NDArray[np.float64]) -> list[dict[str, Any]]:
    """Return errors and values from the left of the map to the right."""
    strip = np.floor(walked.poses[:, 0] / STRIP).astype(np.int64)
    return [
        {
            "from_x": int(number * STRIP),
            "steps": int((strip == number).sum()),
            "median_error": round(float(np.median(wrong[strip == number])), 1),
            "median_value": round(float(np.median(walked.values[strip == number])), 3),
        }
        for number in np.unique(strip)
    ]


def draw(plan: FloorPlan, walked: Walk, wrong: NDArray[np.float64], path: Path) -> Path:
    """Draw values and errors over the places where the agent was."""
    width, height = extent(plan)
    scale = min(4.6 / width, 4.0 / height)
    figure = Figure(figsize=(2 * (scale * width + 0.9), scale * height + 0.5), layout="constrained")
    left, right = figure.subplots(1, 2)
    values = colours_for(walked.values)
    draw_plan(left, plan, "value of the states seen")
    draw_arrows(left, walked.poses, walked.values, values)
    colour_bar(figure, values, [left])
    distances = ScalarMappable(Normalize(0, float(np.percentile(wrong, 98))), "magma_r")
    draw_plan(right, plan, "error of the place estimated from them")
    draw_arrows(right, walked.poses, wrong, distances)
    colour_bar(figure, distances, [right], "units")
    return save(figure, path)


def main(
    run: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(help="directory of a run in a maze")],
    results: Annotated[Path, tyro.conf.arg(help="directory of results")] = Path("results/places"),
    images: Annotated[Path, tyro.conf.arg(help="directory of figures")] = Path("docs/images"),
) -> None:
    with open_readonly(run) as opened:
        task, agent = opened.config.task, opened.agent
        if not task_named(task).is_doom:
            raise SystemExit(f"the run must be in a Doom maze, got {task}")
        if not isinstance(agent, TableAgent):
            raise SystemExit(f"the run's agent must have a table, got {agent.name}")
        with closing(make_env(task, opened.config.wad, opened.config.map)) as env:
            opened.copy_env_settings(env)
            walked = walk(agent, env, opened.config.seed)
            maze: Any = env.unwrapped
            plan = maze.floor_plan()
        config, steps = to_plain(opened.config), opened.agent.steps
    wrong = errors(walked)
    rows = strips(walked, wrong)
    results.mkdir(parents=True, exist_ok=True)
    report = {
        "machine": machine("torch", "vizdoom"),
        "config": config,
        "learned_steps": steps,
        "walked_steps": STEPS,
        "epsilon": EPSILON,
        "median_error": round(float(np.median(wrong)), 1),
        "strips": rows,
    }
    write_json(report, results / f"{task}.json")
    show(Console(), f"{task}, seed {config['seed']}: from left to right", rows)
    print(draw(plan, walked, wrong, images / f"places-{task}.png"))


if __name__ == "__main__":
    tyro.cli(main)
