"""What is compared in the docs: studies of learning, each with its runs, seeds and files.

    python -m benchmarks.studies plus-maze
    python -m benchmarks.studies controls --workers 2
    python -m benchmarks.studies large-maze --seeds 3 4    # the recorded runs of others are kept

The results go to results/studies/NAME.json and docs/images/study-NAME.png.
"""

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import tyro

from benchmarks import curves
from benchmarks.report import write_json
from vast.agents.registry import KINDS
from vast.errors import unknown
from vast.experiments.config import RunConfig, default_run
from vast.training.loop import LoopConfig

SHORT = LoopConfig(eval_every=5000, eval_steps=3000, log_every=500)
FINE = replace(SHORT, eval_every=2500)
LONG = LoopConfig(eval_every=25_000, eval_steps=3000, log_every=5000)
NAMES = {"vast": "VaST", "lsh": "LSH", "mfec": "MFEC", "nec": "NEC", "ddqn": "Prioritized DDQN"}


@dataclass(frozen=True)
class Study:
    """Curves that belong into one picture."""

    curves: dict[str, RunConfig]
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)
    panels: tuple[str, ...] = ("mean_return", "goals_per_1000_steps")
    aims: dict[str, float] = field(default_factory=dict)
    """what is to be reached, by panel"""


def run(
    task: str, steps: int, agent: str = "vast", loop: LoopConfig = SHORT, **changes: Any
) -> RunConfig:
    """Return a run of the cpu preset with changes: fields of it, or as `planning__smoothing`."""
    config = default_run(task, agent, "cpu")
    fields = {name: value for name, value in changes.items() if hasattr(config, name)}
    settings = config.settings
    for path, value in changes.items():
        if path not in fields:
            settings = changed(settings, path.split("__"), value)
    return replace(config, steps=steps, loop=loop, settings=settings, **fields)


def changed(config: Any, path: list[str], value: Any) -> Any:
    """Return a config with another value of a field of a field."""
    name, *rest = path
    return replace(config, **{name: changed(getattr(config, name), rest, value) if rest else value})


def controls() -> dict[str, RunConfig]:
    """Return VaST as it is, and without one of its parts each."""
    steps = 15_000
    return {
        "VaST": run("plus-maze", steps),
        "untrained encoder": run(
            "plus-maze", steps, model__learning_rate=1e-9, model__final_learning_rate=1e-9
        ),
        "no sweeping": run(
            "plus-maze", steps, planning__backups_per_step=0, planning__backups_per_training=0
        ),
        "no reassignment": run(
            "plus-maze", steps, training__reassign=False, training__retabulate=0
        ),
        "no neighbour estimate": run(
            "plus-maze",
            steps,
            planning__smoothing=0.0,
            planning__caution=0.0,
            planning__neighbours=False,
        ),
        "LSH": run("plus-maze", steps, "lsh"),
    }


def remedies(task: str, steps: int, **changes: Any) -> dict[str, RunConfig]:
    """Return VaST as it is, and without one of the remedies for greedy loops each."""
    return {
        "VaST": run(task, steps, **changes),
        "not restless": run(task, steps, restlessness=0.0, **changes),
        "without last action": run(task, steps, last_action=False, **changes),
        "not smoothed": run(task, steps, planning__smoothing=0.0, **changes),
        "none of these": run(
            task,
            steps,
            restlessness=0.0,
            last_action=False,
            planning__smoothing=0.0,
            planning__caution=0.0,
            **changes,
        ),
    }


REVERSED: dict[str, Any] = {"interventions": ("30000:reverse",), "loop": FINE}
TELEPORTER: dict[str, Any] = {
    "interventions": ("150000:map=HON", "150000:run=h-maze-rewarded"),
    "loop": replace(LONG, eval_every=10_000),
}

STUDIES = {
    "t-maze": Study(
        {"VaST": run("t-maze", 10_000)},
        aims={"mean_return": 0.7},
    ),
    "plus-maze": Study(
        {"VaST": run("plus-maze", 40_000, **REVERSED)},
        aims={"mean_return": 0.95, "goals_per_1000_steps": 30},
    ),
    "plus-maze-start": Study(
        {"VaST": run("plus-maze", 15_000)},
        aims={"mean_return": 0.95, "goals_per_1000_steps": 30},
    ),
    "recency": Study(
        {
            "VaST": run("plus-maze", 40_000, **REVERSED),
            "nothing is forgotten": run(
                "plus-maze", 40_000, planning__change_point=None, **REVERSED
            ),
            "all rewards count alike": run(
                "plus-maze",
                40_000,
                planning__change_point=None,
                planning__reward_width=0.0,
                planning__reward_horizon=None,
                **REVERSED,
            ),
        },
    ),
    "h-maze": Study(
        {"VaST": run("h-maze", 170_000, **TELEPORTER)},
        aims={"mean_return": 0.1},
    ),
    "leaps": Study(
        {
            "VaST": run("h-maze", 170_000, **TELEPORTER),
            "without leaps": run("h-maze", 170_000, planning__leap=None, **TELEPORTER),
        },
    ),
    "large-maze": Study(
        {"VaST": run("large-maze", 600_000, loop=LONG)},
        aims={"goals_per_1000_steps": 8},
    ),
    "large-maze-hazards": Study(
        {"VaST": run("large-maze-hazards", 600_000, loop=LONG)},
        panels=("goals_per_1000_steps", "reward_per_step"),
    ),
    "controls": Study(controls(), seeds=(0, 1, 2)),
    "remedies": Study(remedies("plus-maze", 15_000)),
    "agents": Study(
        {
            NAMES[agent]: run(
                "plus-maze",
                30_000,
                agent,
                replace(FINE, eval_steps=1000),
                exploration__anneal_steps=10_000,  # as long as that of the others
            )
            for agent in KINDS
        },
        seeds=(1, 2, 3),
    ),
}


def main(
    name: Annotated[tyro.conf.Positional[str], tyro.conf.arg(help=", ".join(STUDIES))],
    seeds: Annotated[tuple[int, ...], tyro.conf.arg(help="instead of the study's")] = (),
    workers: Annotated[int, tyro.conf.arg(help="runs at a time, each on a core of its own")] = 1,
    runs: Annotated[Path, tyro.conf.arg(help="where the runs are")] = Path("runs/studies"),
    results: Annotated[Path, tyro.conf.arg(help="folder of results")] = Path("results/studies"),
    images: Annotated[Path, tyro.conf.arg(help="folder of pictures")] = Path("docs/images"),
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
        report = curves.joined(report, json.loads(out.read_text()))
    write_json(report, out)
    print(curves.draw(report, images / f"study-{name}.png", study.panels, study.aims))


if __name__ == "__main__":
    tyro.cli(main)
