"""How fast each agent learns: the same task, steps and seeds for all, and a picture of it.

Each run is a run of the command in a process of its own: it can be interrupted and goes on when
this is called again, and what is done is not done again. What their test epochs brought is
gathered in one file, from which alone the picture is drawn.

    python -m benchmarks.curves --seeds 0 1 2 --out results/plus-maze-agents.json
"""

import json
import multiprocessing
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro
from matplotlib.figure import Figure

from benchmarks.report import processor, write_json
from vast.agents.registry import KINDS
from vast.analysis.drawing import save
from vast.experiments import folder as files
from vast.experiments.config import RunConfig, default_run
from vast.experiments.runs import train
from vast.training.metrics import read_metrics
from vast.training.plain import to_plain

COLOURS = {
    "vast": "#c8373a",
    "lsh": "#e09a3b",
    "mfec": "#7a9e3f",
    "nec": "#2f6db5",
    "ddqn": "#7b5aa6",
}
NAMES = {"vast": "VaST", "lsh": "LSH", "mfec": "MFEC", "nec": "NEC", "ddqn": "Prioritized DDQN"}
PANELS = {
    "mean_return": "return per episode that ended",
    "goals_per_1000_steps": "goals per 1000 steps",
}


def configs(
    task: str, preset: str, agents: Iterable[str], seeds: Iterable[int], steps: int
) -> list[RunConfig]:
    """Return the runs that there are to be."""
    return [
        replace(default_run(task, agent, preset), seed=seed, steps=steps)
        for seed in seeds
        for agent in agents
    ]


def folder_of(runs: Path, config: RunConfig) -> Path:
    """Return where a run is."""
    return runs / f"{config.task}-{config.agent}-{config.preset}-{config.seed}"


def is_done(runs: Path, config: RunConfig) -> bool:
    """Tell whether a run has come to its end."""
    saves = folder_of(runs, config) / files.SAVES
    lines = saves.read_text().splitlines() if saves.exists() else []
    return bool(lines) and int(json.loads(lines[-1])["step"]) >= config.steps


def run_all(runs: Path, wanted: list[RunConfig], workers: int) -> None:
    """Run what is not done, each in a process of its own."""
    waiting = [config for config in wanted if not is_done(runs, config)]
    # A new process for each run: nothing that one leaves behind reaches another.
    with ProcessPoolExecutor(
        workers, multiprocessing.get_context("spawn"), max_tasks_per_child=1
    ) as pool:
        folders = [folder_of(runs, config) for config in waiting]
        for folder, done in zip(folders, pool.map(train, folders, waiting), strict=True):
            print(f"{'done' if done else 'interrupted'}: {folder}", flush=True)
            if not done:
                raise SystemExit(130)


def gathered(runs: Path, wanted: list[RunConfig]) -> dict[str, Any]:
    """Return what the test epochs of all runs brought, and what it takes to do them again."""
    first = json.loads((folder_of(runs, wanted[0]) / files.CONFIG).read_text(encoding="utf-8"))
    return {
        "task": wanted[0].task,
        "steps": wanted[0].steps,
        "processor": processor(),
        "versions": first["versions"],
        "configs": {config.agent: to_plain(replace(config, seed=0)) for config in wanted},
        "runs": [curve(folder_of(runs, config), config) for config in wanted],
    }


def curve(folder: Path, config: RunConfig) -> dict[str, Any]:
    """Return the test epochs of one run."""
    rows = [row for row in read_metrics(folder / files.METRICS) if row["step"] <= config.steps]
    tests = [row for row in rows if "eval/episodes" in row]
    per_1000 = 1000 / config.loop.eval_steps
    return {
        "agent": config.agent,
        "seed": config.seed,
        "wall_seconds": round(rows[-1]["wall_seconds"], 1),
        "step": [row["step"] for row in tests],
        "mean_return": [row["eval/mean_return"] for row in tests],
        "episodes": [row["eval/episodes"] for row in tests],
        "goals_per_1000_steps": [row["eval/goals"] * per_1000 for row in tests],
    }


def draw(report: dict[str, Any], path: Path) -> Path:
    """Draw the mean and the range over seeds of each agent."""
    figure = Figure(figsize=(9.6, 3.6), layout="constrained")
    axes = figure.subplots(1, len(PANELS), sharex=True)
    for ax, (name, label) in zip(axes, PANELS.items(), strict=True):
        for agent in report["configs"]:
            curves = [run for run in report["runs"] if run["agent"] == agent]
            steps = np.array(curves[0]["step"])
            values = np.array([run[name] for run in curves], float)
            # A test epoch in which no episode ended has no return.
            known = ~np.isnan(values).all(0)
            steps, values = steps[known], values[:, known]
            ax.plot(steps, np.nanmean(values, 0), color=COLOURS[agent], label=NAMES[agent])
            ax.fill_between(
                steps,
                np.nanmin(values, 0),
                np.nanmax(values, 0),
                color=COLOURS[agent],
                alpha=0.15,
                linewidth=0,
            )
        ax.set(xlabel="environment steps", ylabel=label)
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].legend(frameon=False, fontsize=8)
    seeds = len({run["seed"] for run in report["runs"]})
    figure.suptitle(f"{report['task']}: test epochs, mean and range of {seeds} seeds", fontsize=10)
    return save(figure, path)


def main(
    task: Annotated[str, tyro.conf.arg(help="which task")] = "plus-maze",
    preset: Annotated[str, tyro.conf.arg(help="which preset")] = "cpu",
    agents: Annotated[tuple[str, ...], tyro.conf.arg(help="which agents")] = tuple(KINDS),
    seeds: Annotated[tuple[int, ...], tyro.conf.arg(help="which seeds")] = (0, 1, 2),
    steps: Annotated[int, tyro.conf.arg(help="environment steps of each run")] = 30_000,
    workers: Annotated[int, tyro.conf.arg(help="runs at a time")] = 1,
    runs: Annotated[Path, tyro.conf.arg(help="where the runs are")] = Path("runs/curves"),
    out: Annotated[Path, tyro.conf.arg(help="the file of curves")] = Path(
        "results/plus-maze-agents.json"
    ),
    image: Annotated[Path, tyro.conf.arg(help="the picture")] = Path(
        "docs/images/plus-maze-agents.png"
    ),
) -> None:
    wanted = configs(task, preset, agents, seeds, steps)
    run_all(runs, wanted, workers)
    out.parent.mkdir(parents=True, exist_ok=True)
    write_json(gathered(runs, wanted), out)
    print(draw(json.loads(out.read_text()), image))


if __name__ == "__main__":
    tyro.cli(main)
