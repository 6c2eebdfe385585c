"""What agents do when their studies are over, in tests of their own.

    python -m benchmarks.afterwards teleporter    # does the H-maze's agent use it?
    python -m benchmarks.afterwards hazards       # is one that knows hazards better among them?
    python -m benchmarks.afterwards hazards --seeds 3 4    # recorded tests of others are kept

The runs of the studies `h-maze`, or `large-maze` and `large-maze-hazards`, must be there; those
that are not are passed over. The results go to results/studies/NAME.json.
"""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import gymnasium
import numpy as np
import tyro
from rich.console import Console

from benchmarks import curves
from benchmarks.report import machine, show, write_json
from benchmarks.studies import STUDIES
from vast.envs.tasks import make_env
from vast.errors import unknown
from vast.experiments.runs import Run, looked_at
from vast.training.evaluation import Epoch, run_test_epoch

STEPS = {"teleporter": 3000, "hazards": 9000}
EPSILON = 0.05
LEAP = 100.0
"""units; nobody walks as far in one step"""

Row = dict[str, Any]
Seeds = tuple[int, ...]


class Leaps(gymnasium.Wrapper[Any, Any, Any, Any]):
    """A world that counts the episodes in which one was suddenly elsewhere."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        super().__init__(env)
        self.episodes = 0
        self._place: tuple[float, float] = (0.0, 0.0)
        self._has_leapt = False

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        """Begin an episode."""
        observation, info = self.env.reset(**options)
        self._place, self._has_leapt = (info["x"], info["y"]), False
        return observation, info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Take a step."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        place = info["x"], info["y"]
        self._has_leapt |= bool(np.hypot(*np.subtract(place, self._place)) > LEAP)
        self._place = place
        self.episodes += bool((terminated or truncated) and self._has_leapt)
        return observation, reward, terminated, truncated, info


def runs_of(study: str, runs: Path, seeds: Seeds) -> Iterator[tuple[int, Run]]:
    """Give each finished run of a study, and its seed."""
    for planned in curves.planned(STUDIES[study].curves, seeds or STUDIES[study].seeds):
        if planned.is_done(runs):
            with looked_at(planned.folder(runs)) as run:
                yield planned.config.seed, run


def tested(run: Run, env: Any, steps: int) -> Epoch:
    """Return what a run's agent does elsewhere."""
    return run_test_epoch(run.agent, env, steps, EPSILON, np.random.SeedSequence(run.config.seed))


def teleporter(runs: Path, seeds: Seeds) -> list[Row]:
    """Tell in how many episodes the agents of the H-maze take the teleporter."""
    rows = []
    for seed, run in runs_of("h-maze", runs, seeds):
        with closing(Leaps(make_env("h-maze"))) as env:
            run.give_world_to(env)
            epoch = tested(run, env, STEPS["teleporter"])
        rows.append({"seed": seed, "through_the_teleporter": env.episodes, **epoch._asdict()})
    return rows


def hazards(runs: Path, seeds: Seeds) -> list[Row]:
    """Test the agents of the large maze, learned with hazards and without, where there are some."""
    rows = []
    for learned in ("large-maze", "large-maze-hazards"):
        for seed, run in runs_of(learned, runs, seeds):
            with closing(make_env("large-maze-hazards")) as env:
                epoch = tested(run, env, STEPS["hazards"])
            rows.append({"learned_in": learned, "seed": seed, **epoch._asdict()})
    return rows


TESTS = {"teleporter": teleporter, "hazards": hazards}


def joined(rows: list[Row], recorded: list[Row]) -> list[Row]:
    """Return rows together with the recorded ones of other agents."""
    tested_now = {(row.get("learned_in"), row["seed"]) for row in rows}
    others = [row for row in recorded if (row.get("learned_in"), row["seed"]) not in tested_now]
    return sorted(others + rows, key=lambda row: (row.get("learned_in", ""), row["seed"]))


def main(
    name: Annotated[tyro.conf.Positional[str], tyro.conf.arg(help=", ".join(TESTS))],
    seeds: Annotated[Seeds, tyro.conf.arg(help="instead of the study's")] = (),
    runs: Annotated[Path, tyro.conf.arg(help="where the runs are")] = Path("runs/studies"),
    results: Annotated[Path, tyro.conf.arg(help="folder of results")] = Path("results/studies"),
) -> None:
    if name not in TESTS:
        raise SystemExit(str(unknown("test", name, TESTS)))
    report: Row = {
        "machine": machine("torch", "vizdoom"),
        "steps": STEPS[name],
        "epsilon": EPSILON,
    }
    out = results / f"{name}.json"
    recorded: Row = {**report, "rows": []}
    if seeds and out.exists():
        recorded = json.loads(out.read_text())
    if any(recorded[key] != value for key, value in report.items()):
        raise SystemExit("the recorded tests are of another kind: test all seeds")
    rows = TESTS[name](runs, seeds)
    if not rows:
        raise SystemExit(f"no finished run in {runs}: run the studies first")
    rows = joined(rows, recorded["rows"])
    results.mkdir(parents=True, exist_ok=True)
    write_json({**report, "rows": rows}, out)
    show(Console(), name, rows)


if __name__ == "__main__":
    tyro.cli(main)
