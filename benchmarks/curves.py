"""Learning curves: runs with several seeds, their test epochs in one file, and a figure of it.

Each run has a process and a run directory of its own. It can be interrupted; the next call resumes
it, and skips runs that are finished. The results of all test epochs go to one file, from which
alone the figure is drawn. `benchmarks.studies` says what is compared.
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

from vast.analysis.drawing import save
from vast.experiments import run_directory as files
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
LOWEST_RETURN = -2.0
"""shown in a figure: first episodes may last for thousands of steps"""


class Planned(NamedTuple):
    """A run to be done, and the curve it is part of."""

    label: str
    config: RunConfig

    def directory(self, runs: Path) -> Path:
        """Return its run directory."""
        words = self.label.lower().replace(" ", "-")
        return runs / f"{self.config.task}-{words}-{self.config.steps}-{self.config.seed}"

    def is_done(self, runs: Path) -> bool:
        """Tell whether it is finished."""
        saves = self.directory(runs) / files.SAVES
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
    """Do all unfinished runs. Several workers have a core each, shared with their Doom engine."""
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
        # A new process for each run: no run can affect another.
        context = multiprocessing.get_context("spawn")
        process = context.Process(target=_run, args=(run.directory(runs), run.config, cores))
        process.start()
        process.join()
        state = "stopped" if process.exitcode else "finished"
        print(f"{state}: {run.directory(runs)}", flush=True)
        if process.exitcode:
            return False
    return True


def _run(directory: Path, config: RunConfig, cores: set[int] | None) -> None:
    if cores is not None:
        os.sched_setaffinity(0, cores)
    if not train(directory, config):
        raise SystemExit(130)


def gathered(runs: Path, wanted: list[Planned]) -> dict[str, Any]:
    """Return the test epochs of all runs, with the configs and versions to reproduce them."""
    first = json.loads((wanted[0].directory(runs) / files.CONFIG).read_text(encoding="utf-8"))
    return {
        "task": wanted[0].config.task,
        "steps": wanted[0].config.steps,
        "versions": first["versions"],
        "configs": {run.label: to_plain(replace(run.config, seed=0)) for run in wanted},
        "runs": [curve(runs, run) for run in wanted],
    }


def merged(report: dict[str, Any], recorded: dict[str, Any]) -> dict[str, Any]:
    """Return a report with the recorded runs of other seeds, which must be of the same kind."""
    new, old = _setup(report), _setup(recorded)
    differ = [name for name in new if new[name] != old.get(name)]
    if differ:
        raise SystemExit(f"{', '.join(differ)} must be those of the recorded runs: run all seeds")
    seeds = {run["seed"] for run in report["runs"]}
    others = [run for run in recorded["runs"] if run["seed"] not in seeds]
    return {**report, "runs": sorted(report["runs"] + others, key=lambda run: run["seed"])}


def _setup(report: dict[str, Any]) -> dict[str, Any]:
    """Return all but the runs; configs that earlier versions wrote get the present names."""
    setup = {name: value for name, value in report.items() if name != "runs"}
    if "configs" in setup:
        setup["configs"] = {
            label: files.run_config(config) for label, config in setup["configs"].items()
        }
    return setup


def curve(runs: Path, run: Planned) -> dict[str, Any]:
    """Return the test epochs of one run."""
    config = run.config
    rows = read_metrics(run.directory(runs) / files.METRICS)
    rows = [row for row in rows if row["step"] <= config.steps]
    tests = [row for row in rows if "eval/episodes" in row]
    per_1000 = 1000 / config.loop.eval_steps
    return {
        "label": run.label,
        "seed": config.seed,
        "processor": files.processor(),
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
    targets: dict[str, float] | None = None,
) -> Path:
    """Draw the mean and the range over seeds of each curve, and targets as dashed lines."""
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
        if targets and name in targets:
            ax.axhline(targets[name], color="#3c3c3c", linewidth=0.8, linestyle="--")
        ax.set(xlabel="environment steps", ylabel=PANELS[name])
        ax.xaxis.set_major_locator(MaxNLocator(7, steps=[1, 2, 5, 10]))
        low, high = ax.dataLim.intervaly
        if name == "mean_return" and low < LOWEST_RETURN:
            ax.set_ylim(LOWEST_RETURN, high + 0.05 * (high - LOWEST_RETURN))
        ax.spines[["top", "right"]].set_visible(False)
    if len(report["configs"]) > 1:
        axes[0].legend(frameon=False, fontsize=8)
    seeds = len({run["seed"] for run in report["runs"]})
    over = f"mean and range of {seeds} seeds" if seeds > 1 else "one seed"
    figure.suptitle(f"{report['task']}: test epochs, {over}", fontsize=10)
    return save(figure, path)


def _values(report: dict[str, Any], label: str, name: str) -> tuple[Any, Any]:
    """Return steps, and values by seed, without test epochs in which no episode ended."""
    runs = [run for run in report["runs"] if run["label"] == label]
    steps = np.array(runs[0]["step"])
    values = np.array([run[name] for run in runs], float)
    known = ~np.isnan(values).all(0)
    return steps[known], values[:, known]


def _interventions(report: dict[str, Any]) -> list[int]:
    texts = {text for config in report["configs"].values() for text in config["interventions"]}
    return sorted({int(text.partition(":")[0]) for text in texts})
