"""The studies of the docs: which runs each compares, over which seeds.

    python -m benchmarks.studies plus-maze
    python -m benchmarks.studies controls --workers 2
    python -m benchmarks.studies large-maze --seeds 3 4    # keep the recorded runs of other seeds

The results go to results/studies/NAME.json and docs/images/study-NAME.png. Names and labels are
those of the recorded results: "restless" and "leaps" there are the extensions `repeat_penalty` and
`outcome_shift`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import tyro

from benchmarks import curves
from benchmarks.report import write_json
from vast.errors import unknown
from vast.experiments.config import RunConfig, default_run
from vast.training.loop_config import LoopConfig
from vast.training.plain import with_changes

SHORT = LoopConfig(eval_every=5000, eval_steps=3000, log_every=500)
FINE = replace(SHORT, eval_every=2500)
LONG = LoopConfig(eval_every=25_000, eval_steps=3000, log_every=5000)
NAMES = {"vast": "VaST", "lsh": "LSH", "mfec": "MFEC", "nec": "NEC", "ddqn": "Prioritized DDQN"}

NO_REPEAT_PENALTY = {"extensions.repeat_penalty": 0.0}
NO_LAST_ACTION = {"extensions.last_action": False}
NOT_SMOOTHED = {"extensions.smoothing": 0.0}
NOT_CAUTIOUS = {"extensions.caution": 0.0}


@dataclass(frozen=True)
class Study:
    """Curves that are compared in one figure."""

    curves: dict[str, RunConfig]
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)
    panels: tuple[str, ...] = ("mean_return", "goals_per_1000_steps")
    targets: dict[str, float] = field(default_factory=dict)
    """what every seed should reach, by panel"""


def run(
    task: str,
    steps: int,
    changes: Mapping[str, Any] | None = None,
    *,
    agent: str = "vast",
    loop: LoopConfig = SHORT,
    interventions: tuple[str, ...] = (),
) -> RunConfig:
    """Return a run of the preset `cpu`; `changes` are those of the agent's config, by path."""
    config = default_run(task, agent, "cpu")
    settings = with_changes(config.settings, changes or {})
    return replace(config, steps=steps, settings=settings, loop=loop, interventions=interventions)


def part_ablations(task: str, steps: int) -> dict[str, RunConfig]:
    """Return VaST, VaST without one of its parts each, and LSH."""
    return {
        "VaST": run(task, steps),
        "untrained encoder": run(
            task, steps, {"model.learning_rate": 1e-9, "model.final_learning_rate": 1e-9}
        ),
        "no sweeping": run(
            task, steps, {"planning.backups_per_step": 0, "planning.backups_per_training": 0}
        ),
        "no reassignment": run(task, steps, {"training.reassign": False, "training.retabulate": 0}),
        "no neighbour estimate": run(
            task, steps, {**NOT_SMOOTHED, **NOT_CAUTIOUS, "planning.neighbours": False}
        ),
        "LSH": run(task, steps, agent="lsh"),
    }


def extension_ablations(task: str, steps: int) -> dict[str, RunConfig]:
    """Return VaST, and VaST without one or all of its extensions against greedy loops."""
    return {
        "VaST": run(task, steps),
        "not restless": run(task, steps, NO_REPEAT_PENALTY),
        "without last action": run(task, steps, NO_LAST_ACTION),
        "not smoothed": run(task, steps, NOT_SMOOTHED),
        "none of these": run(
            task,
            steps,
            {**NO_REPEAT_PENALTY, **NO_LAST_ACTION, **NOT_SMOOTHED, **NOT_CAUTIOUS},
        ),
    }


def reversal(changes: Mapping[str, Any] | None = None) -> RunConfig:
    """Return a run in the plus-maze, whose rewards are reversed after 30 000 steps."""
    return run("plus-maze", 40_000, changes, loop=FINE, interventions=("30000:reverse",))


def teleporter(changes: Mapping[str, Any] | None = None) -> RunConfig:
    """Return a run in the H-maze, where a teleporter is opened and shown after 150 000 steps."""
    return run(
        "h-maze",
        170_000,
        changes,
        loop=replace(LONG, eval_every=10_000),
        interventions=("150000:map=HON", "150000:run=h-maze-rewarded"),
    )


STUDIES = {
    "t-maze": Study(
        {"VaST": run("t-maze", 10_000)},
        targets={"mean_return": 0.7},
    ),
    "plus-maze": Study(
        {"VaST": reversal()},
        targets={"mean_return": 0.95, "goals_per_1000_steps": 30},
    ),
    "plus-maze-start": Study(
        {"VaST": run("plus-maze", 15_000)},
        targets={"mean_return": 0.95, "goals_per_1000_steps": 30},
    ),
    "recency": Study(
        {
            "VaST": reversal(),
            "nothing is forgotten": reversal({"extensions.change_point": None}),
            "all rewards count alike": reversal(
                {
                    "extensions.change_point": None,
                    "extensions.reward_width": 0.0,
                    "extensions.reward_horizon": None,
                }
            ),
        },
    ),
    "h-maze": Study(
        {"VaST": teleporter()},
        targets={"mean_return": 0.1},
    ),
    "leaps": Study(
        {
            "VaST": teleporter(),
            "without leaps": teleporter({"extensions.outcome_shift": None}),
        },
    ),
    "large-maze": Study(
        {"VaST": run("large-maze", 600_000, loop=LONG)},
        targets={"goals_per_1000_steps": 8},
    ),
    "large-maze-hazards": Study(
        {"VaST": run("large-maze-hazards", 600_000, loop=LONG)},
        panels=("goals_per_1000_steps", "reward_per_step"),
    ),
    "controls": Study(part_ablations("plus-maze", 15_000), seeds=(0, 1, 2)),
    "remedies": Study(extension_ablations("plus-maze", 15_000)),
    "agents": Study(
        {
            NAMES[agent]: run(
                "plus-maze",
                30_000,
                {"exploration.anneal_steps": 10_000},  # the same for all agents
                agent=agent,
                loop=replace(FINE, eval_steps=1000),
            )
            for agent in NAMES
        },
        seeds=(1, 2, 3),
    ),
}


def main(
    name: Annotated[tyro.conf.Positional[str], tyro.conf.arg(help=", ".join(STUDIES))],
    seeds: Annotated[tuple[int, ...], tyro.conf.arg(help="instead of the study's")] = (),
    workers: Annotated[int, tyro.conf.arg(help="runs at a time, each on a core of its own")] = 1,
    runs: Annotated[Path, tyro.conf.arg(help="where the runs are")] = Path("runs/studies"),
    results: Annotated[Path, tyro.conf.arg(help="directory of results")] = Path("results/studies"),
    images: Annotated[Path, tyro.conf.arg(help="directory of figures")] = Path("docs/images"),
) -> None:
    if name not in STUDIES:
        raise SystemExit(str(unknown("study", name, STUDIES)))
    study = STUDIES[name]
    wanted = curves.planned(study.curves, seeds or study.seeds)
    curves.run_all(runs, wanted, workers)
    out = results / f"{name}.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    report = json.loads(json.dumps(curves.gathered(runs, wanted)))
    if seeds and out.exists():
        report = curves.merged(report, json.loads(out.read_text()))
    write_json(report, out)
    print(curves.draw(report, images / f"study-{name}.png", study.panels, study.targets))


if __name__ == "__main__":
    tyro.cli(main)
