"""A picture of the probe `places`: values, and errors of places, over where an agent was.

python -m vast.analysis.places runs/h-maze --out places.png
"""

from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from numpy.typing import NDArray

from vast.analysis.drawing import save
from vast.analysis.value_map import colour_bar, colours_for, draw_arrows, draw_plan, extent
from vast.envs.doom.world import FloorPlan
from vast.experiments.probes.places import Walk, errors, strips, walk_of
from vast.experiments.runs import open_readonly


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
    out: Annotated[Path, tyro.conf.arg(help="the picture to write")] = Path("places.png"),
) -> None:
    """Draw a run's values and errors of places, and print them from left to right."""
    with open_readonly(run) as opened:
        walked = walk_of(opened)
        config = opened.config
        with closing(config.make_env()) as env:
            opened.copy_env_settings(env)
            maze: Any = env.unwrapped
            plan = maze.floor_plan()
    wrong = errors(walked)
    for row in strips(walked, wrong):
        print(", ".join(f"{name} {value}" for name, value in row.items()))
    print(draw(plan, walked, wrong, out))


if __name__ == "__main__":
    tyro.cli(main)
