"""Learning curves: runs with several seeds, their test epochs in one file, a picture of it.

Each run is a run of the command in a process of its own: it can be interrupted and goes on when
this is called again, and what is done is not done again. What their test epochs brought is
gathered in one file, from which alone the picture is drawn. What is compared is in `studies`.
"""

import json
import multiprocessing
import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from benchmarks.report import processor
from vast.analysis.drawing import save
from vast.experiments import folder as files
from vast.experiments.config import RunConfig
from vast.experiments.runs import train
from vast.training.metrics import read_metrics
from vast.training.plain import to_plain

COLOURS = ("#c8373a", "#2f6db5", "#e09a3b", "#7a9e3f", "#7b5aa6", "#4aa3a2", "#7d7d7d")
PANELS = {
    "mean_return": "return per episode that ended",
    "goals_per_1000_steps": "goals per 1000 steps",
    "reward_per_step": "reward per step",
}
LOST = -2.0
"""a return below which it makes no difference how far"""


class Planned(NamedTuple):
    """A run that there is to be, and the curve it is part of."""

    label: str
    config: RunConfig

    def folder(self, runs: Path) -> Path:
        """Return where it is."""
        words = self.label.lower().replace(" ", "-")
        return runs / f"{self.config.task}-{words}-{self.config.steps}-{self.config.seed}"

    def is_done(self, runs: Path) -> bool:
        """Tell whether it has come to its end."""
        saves = self.folder(runs) / files.SAVES
        lines = saves.read_text().splitlines() if saves.exists() else []
        return bool(lines) and int(json.loads(lines[-1])["step"]) >= self.config.steps


def planned(curves: dict[str, RunConfig], seeds: Iterable[int]) -> list[Planned]:
    """Return the runs of each curve, seed by seed."""
    return [
        Planned(label, replace(config, seed=seed))
        for seed in seeds
        for label, config in curves.items()
    ]


def run_all(runs: Path, wanted: list[Planned], workers: int) -> None:
    """Run what is not done. Several at a time have a core each, the engines of Doom with them."""
    waiting = iter([run for run in wanted if not run.is_done(runs)])
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    with ThreadPoolExecutor(workers) as pool:
        shares = [
            {cores[i % len(cores)]} if workers > 1 and cores else None for i in range(workers)
        ]
        done = list(pool.map(lambda share: _run_some(runs, waiting, share), shares))
    if not all(done):
        raise SystemExit(130)


def _run_some(runs: Path, waiting: Iterator[Planned], cores: set[int] | None) -> bool:
    for run in waiting:
        # A new process for each run: nothing that one leaves behind reaches another.
        context = multiprocessing.get_context("spawn")
        process = context.Process(target=_run, args=(run.folder(runs), run.config, cores))
        process.start()
        process.join()
        print(f"{'done' if not process.exitcode else 'stopped'}: {run.folder(runs)}", flush=True)
        if process.exitcode:
            return False
    return True


def _run(folder: Path, config: RunConfig, cores: set[int] | None) -> None:
    if cores is not None:
        os.sched_setaffinity(0, cores)
    if not train(folder, config):
        raise SystemExit(130)


def gathered(runs: Path, wanted: list[Planned]) -> dict[str, Any]:
    """Return what the test epochs of all runs brought, and what it takes to do them again."""
    first = json.loads((wanted[0].folder(runs) / files.CONFIG).read_text(encoding="utf-8"))
    return {
        "task": wanted[0].config.task,
        "steps": wanted[0].config.steps,
        "versions": first["versions"],
        "configs": {run.label: to_plain(replace(run.config, seed=0)) for run in wanted},
        "runs": [curve(runs, run) for run in wanted],
    }


def joined(report: dict[str, Any], recorded: dict[str, Any]) -> dict[str, Any]:
    """Return a report with the runs of other seeds that were recorded; they must be of its kind."""
    differ = [name for name in report if name != "runs" and report[name] != recorded[name]]
    if differ:
        raise SystemExit(f"the recorded runs have other {', '.join(differ)}: run all seeds")
    seeds = {run["seed"] for run in report["runs"]}
    others = [run for run in recorded["runs"] if run["seed"] not in seeds]
    return {**report, "runs": sorted(report["runs"] + others, key=lambda run: run["seed"])}


def curve(runs: Path, run: Planned) -> dict[str, Any]:
    """Return the test epochs of one run."""
    config = run.config
    rows = read_metrics(run.folder(runs) / files.METRICS)
    rows = [row for row in rows if row["step"] <= config.steps]
    tests = [row for row in rows if "eval/episodes" in row]
    per_1000 = 1000 / config.loop.eval_steps
    return {
        "label": run.label,
        "seed": config.seed,
        "processor": processor(),
        "wall_seconds": round(rows[-1]["wall_seconds"], 1),
        "step": [row["step"] for row in tests],
        "wall": [round(row["wall_seconds"], 1) for row in tests],
        "mean_return": [row["eval/mean_return"] for row in tests],
        "episodes": [row["eval/episodes"] for row in tests],
        "goals_per_1000_steps": [round(row["eval/goals"] * per_1000, 3) for row in tests],
        "reward_per_step": [row["eval/reward_per_step"] for row in tests],
    }


def draw(
    report: dict[str, Any],
    path: Path,
    panels: tuple[str, ...] = ("mean_return", "goals_per_1000_steps"),
    goals: dict[str, float] | None = None,
) -> Path:
    """Draw the mean and the range over seeds of each curve; `goals` are lines to be reached."""
    figure = Figure(figsize=(4.8 * len(panels), 3.6), layout="constrained")
    axes = figure.subplots(1, len(panels), sharex=True, squeeze=False)[0]
    for ax, name in zip(axes, panels, strict=True):
        for label, colour in zip(report["configs"], COLOURS, strict=False):
            steps, values = _values(report, label, name)
            ax.plot(steps, np.nanmean(values, 0), color=colour, label=label)
            low, high = np.nanmin(values, 0), np.nanmax(values, 0)
            ax.fill_between(steps, low, high, color=colour, alpha=0.15, linewidth=0)
        for step in _interventions(report):
            ax.axvline(step, color="#7d7d7d", linewidth=0.8, linestyle=":")
        if goals and name in goals:
            ax.axhline(goals[name], color="#3c3c3c", linewidth=0.8, linestyle="--")
        ax.set(xlabel="environment steps", ylabel=PANELS[name])
        ax.xaxis.set_major_locator(MaxNLocator(7, steps=[1, 2, 5, 10]))
        low, high = ax.dataLim.intervaly
        if name == "mean_return" and low < LOST:  # first episodes may last for thousands of steps
            ax.set_ylim(LOST, high + 0.05 * (high - LOST))
        ax.spines[["top", "right"]].set_visible(False)
    if len(report["configs"]) > 1:
        axes[0].legend(frameon=False, fontsize=8)
    seeds = len({run["seed"] for run in report["runs"]})
    over = f"mean and range of {seeds} seeds" if seeds > 1 else "one seed"
    figure.suptitle(f"{report['task']}: test epochs, {over}", fontsize=10)
    return save(figure, path)


def _values(report: dict[str, Any], label: str, name: str) -> tuple[Any, Any]:
    """Return steps, and values by seed; a test epoch in which no episode ended has no return."""
    runs = [run for run in report["runs"] if run["label"] == label]
    steps = np.array(runs[0]["step"])
    values = np.array([run[name] for run in runs], float)
    known = ~np.isnan(values).all(0)
    return steps[known], values[:, known]


def _interventions(report: dict[str, Any]) -> list[int]:
    texts = {text for config in report["configs"].values() for text in config["interventions"]}
    return sorted({int(text.partition(":")[0]) for text in texts})
