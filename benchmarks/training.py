"""Where each second of a VaST training run goes, by preset and task, and how the parts grow.

Runs are those of `vast train`, without test epochs and checkpoints; the table says where one is
shortened. The floor is the engine alone: it plays four tics per environment step and its screen is
read, as `benchmarks.envs` measures it right before the run. With `overlap`, training has a process
of its own, of which only the waiting for it is seen here, or a thread, whose seconds are given:
both are measured. Growth is measured on the preset `cpu` with synthetic
episodes and a synthetic table; see `benchmarks.scaling`.

    python -m benchmarks.training [--json FILE] [--image FILE] [--page FILE] [--only-draw]
    python -m benchmarks.training --only-burst       # with one thread and with two, in turns
    python -m benchmarks.training --cost-of RUN      # of a finished run: the cost of 1000 steps
"""

import json
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import tyro

from benchmarks.burst import bursts
from benchmarks.envs import measure
from benchmarks.parts import WAITING, profiled
from benchmarks.profile_page import draw, part_rows, refresh, summary_rows
from benchmarks.report import machine, report_console, show, write_json
from benchmarks.run_cost import cost_by_steps
from benchmarks.scaling import by_bits, by_replay, by_states
from vast.experiments.config import RunConfig, default_run
from vast.tasks import task_named
from vast.training.plain import to_plain, with_changes
from vast.training.threads import limited_threads

FLOOR_STEPS, FLOOR_ROUNDS = 300, 4


@dataclass(frozen=True)
class Case:
    """A run to be profiled."""

    preset: str
    task: str
    steps: int
    burn_in: int | None = None
    """environment steps instead of the preset's; epsilon then has its final value at once"""
    training: dict[str, int] = field(default_factory=dict)
    """changes of the preset's training"""

    def config(self) -> RunConfig:
        """Return the run."""
        run = default_run(self.task, "vast", self.preset)
        changes: dict[str, float] = {f"training.{name}": n for name, n in self.training.items()}
        if self.burn_in is not None:
            changes |= {
                "exploration.burn_in": self.burn_in,
                "exploration.first": run.settings.exploration.final,
                "exploration.anneal_steps": 0,
            }
        return replace(run, settings=with_changes(run.settings, changes), steps=self.steps)

    @property
    def shortened(self) -> str:
        """What differs from the preset, in words."""
        begins = [] if self.burn_in is None else [f"burn-in {self.burn_in}, final epsilon at once"]
        shorter = {name: value for name, value in self.training.items() if name != "process"}
        return ", ".join(begins + [f"{name} {value}" for name, value in shorter.items()])


CASES = (
    Case("cpu", "plus-maze", 8000),
    Case("cpu", "plus-maze", 8000, training={"process": False}),
    Case("cpu", "t-maze", 6000),
    Case("cpu", "large-maze", 11_000, burn_in=8000, training={"burst": 1000}),
    Case("cpu", "large-maze", 11_000, burn_in=8000, training={"burst": 1000, "process": False}),
    Case("paper", "plus-maze", 1160, burn_in=1000),
)


def run_case(case: Case) -> dict[str, Any]:
    """Profile one run, and measure its engine."""
    name = task_named(case.task).env.removeprefix("vast/").removesuffix("-v0")
    engine = measure(name, FLOOR_STEPS, FLOOR_ROUNDS)
    found = profiled(case.config())
    phases = found["phases"]
    after, floor = phases["after"], 1000 / engine["bare_engine_steps_per_second"]
    per_1000 = 1000 * after["wall_seconds"] / after["steps"]
    wall = sum(phase["wall_seconds"] for phase in phases.values())
    return {
        "preset": case.preset,
        "task": case.task,
        "steps": case.steps,
        "shortened": case.shortened,
        "config": to_plain(case.config()),
        "wall_seconds": wall,
        "seconds_per_1000_after": per_1000,
        "floor_per_1000": floor,
        "of_floor": 1000 * wall / case.steps / floor,
        "of_floor_after": per_1000 / floor,
        "waiting_share_after": after["parts"].get(WAITING, 0.0) / after["wall_seconds"],
        **found,
    }


def warm_up() -> None:
    """Load and compile everything before it is measured."""
    profiled(default_run("t-maze", "vast", "debug"))


def main(
    json_file: Annotated[Path, tyro.conf.arg(name="json")] = Path(
        "benchmarks/results/training.json"
    ),
    image: Path = Path("docs/images/training-profile.png"),
    page: Path | None = Path("docs/profile.md"),
    only_draw: bool = False,
    only_burst: bool = False,
    cost_of: Path | None = None,
    every: int = 50_000,
) -> None:
    """Measure training runs.

    Args:
        json_file: where to write the results
        image: where to write the figure
        page: the page whose tables to replace
        only_draw: measure nothing; draw the recorded results
        only_burst: measure the burst with one thread and with two, and write nothing
        cost_of: measure nothing; show what 1000 steps of this run cost as its table grew
        every: environment steps per row of `cost_of`
    """
    console = report_console()
    if cost_of is not None:
        show(console, "seconds per 1000 steps", cost_by_steps(cost_of, every))
        return
    if only_burst:
        show(console, "one training step of the burst", bursts())
        return
    if not only_draw:
        begin = time.perf_counter()
        report: dict[str, Any] = {"machine": machine("torch", "numpy", "numba", "vizdoom")}
        with limited_threads(1):
            warm_up()
            report["runs"] = [run_case(case) for case in CASES]
            report["by_replay"] = by_replay()
            report["by_states"] = by_states()
            report["by_bits"] = by_bits()
        report["seconds"] = time.perf_counter() - begin
        json_file.parent.mkdir(parents=True, exist_ok=True)
        write_json(report, json_file)
    report = json.loads(json_file.read_text(encoding="utf-8"))
    show(console, "runs", summary_rows(report))
    show(console, "seconds of the whole run", part_rows(report))
    show(console, "seconds per 1000 steps after the burst", part_rows(report, "after"))
    show(console, "one call by the frames in the replay", report["by_replay"])
    show(console, "one call by the states in the table", report["by_states"])
    show(console, "one call by the bits of a code", report["by_bits"])
    console.print(f"wrote {json_file}, {draw(report, image)}")
    if page is not None:
        refresh(report, page)


if __name__ == "__main__":
    tyro.cli(main)
