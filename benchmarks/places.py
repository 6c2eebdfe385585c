"""What an agent's codes tell of the places where it is, and what its values make of that.

    vast train h-maze --steps 150000 --out runs/h-maze
    python -m benchmarks.places runs/h-maze

The agent walks through its maze. At each step the place is told by the code alone: it is the
mean of the places with the nearest codes in other episodes. How far off that is is the error.
The numbers go to results/places/TASK.json, the picture to docs/images/places-TASK.png.
"""

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
from vast.analysis.drawing import save
from vast.analysis.value_map import colour_bar, colours_for, draw_arrows, draw_plan, extent
from vast.envs.doom.world import FloorPlan
from vast.envs.tasks import make_env
from vast.experiments.runs import Run, looked_at
from vast.training.plain import to_plain

STEPS = 3000
EPSILON = 0.05
NEAREST = 5
"""codes by which a place is told"""
STRIPS = 200.0
"""units; errors and values are told by strips of this width"""


class Walk(NamedTuple):
    """What there was at each step."""

    poses: NDArray[np.float64]
    """[n, 3], x and y in units, heading in degrees"""
    states: NDArray[np.uint64]
    values: NDArray[np.float64]
    """of the best action"""
    episodes: NDArray[np.int64]


def walk(run: Run, env: Any) -> Walk:
    """Let the agent of a run walk through an environment."""
    policy: Any = run.agent.policy(EPSILON, np.random.default_rng(run.config.seed))
    poses, states, values, episodes = [], [], [], []
    episode, over = -1, True
    for _ in range(STEPS):
        if over:
            episode += 1
            observation, info = env.reset(seed=episode)
            policy.begin(observation)
        poses.append((info["x"], info["y"], info["angle"]))
        states.append(policy.state())
        values.append(policy.q_values().max())
        episodes.append(episode)
        observation, _, terminated, truncated, info = env.step(policy.act())
        over = terminated or truncated
        if not over:
            policy.observe(observation)
    return Walk(np.array(poses), np.array(states, np.uint64), np.array(values), np.array(episodes))


def errors(walked: Walk) -> NDArray[np.float64]:
    """Return how far off the place is that the nearest codes of other episodes tell, by step."""
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
    strip = np.floor(walked.poses[:, 0] / STRIPS).astype(np.int64)
    return [
        {
            "from_x": int(number * STRIPS),
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
    draw_plan(right, plan, "how far off the place is that their codes tell")
    draw_arrows(right, walked.poses, wrong, distances)
    colour_bar(figure, distances, [right], "units")
    return save(figure, path)


def main(
    run: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(help="a run in a maze")],
    results: Annotated[Path, tyro.conf.arg(help="folder of results")] = Path("results/places"),
    images: Annotated[Path, tyro.conf.arg(help="folder of pictures")] = Path("docs/images"),
) -> None:
    with looked_at(run) as opened:
        task = opened.config.task
        env: Any = make_env(task)
        opened.give_world_to(env)
        walked = walk(opened, env)
        plan = env.unwrapped.floor_plan()
        env.close()
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
