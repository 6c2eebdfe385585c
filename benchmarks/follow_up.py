"""Follow-up tests of the agents that the studies trained.

    python -m benchmarks.follow_up teleporter    # does the agent of the H-maze use it?
    python -m benchmarks.follow_up hazards       # does an agent trained with hazards avoid them?
    python -m benchmarks.follow_up hazards --seeds 3 4    # keep the recorded results of other seeds

They need the runs of the studies `h-maze`, or `large-maze` and `large-maze-hazards`; unfinished
runs are skipped. The results go to results/studies/NAME.json.
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
from vast.errors import unknown
from vast.experiments.runs import Run, open_readonly
from vast.tasks import make_env
from vast.training.protocol import Env
from vast.training.rollout import EpochResult, run_test_epoch

STEPS = {"teleporter": 3000, "hazards": 9000}
"""environment steps of each test"""
EPSILON = 0.05
JUMP = 100.0
"""map units; no agent walks as far in one step"""

Row = dict[str, Any]
Seeds = tuple[int, ...]


class JumpCounter(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Counts the episodes in which the agent jumped from one place to another."""

    def __init__(self, env: Env) -> None:
        super().__init__(env)
        self.episodes = 0
        self._place: tuple[float, float] = (0.0, 0.0)
        self._has_jumped = False

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        """Start an episode."""
        observation, info = self.env.reset(**options)
        self._place, self._has_jumped = (info["x"], info["y"]), False
        return observation, info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Take a step."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        place = info["x"], info["y"]
        self._has_jumped |= bool(np.hypot(*np.subtract(place, self._place)) > JUMP)
        self._place = place
        self.episodes += bool((terminated or truncated) and self._has_jumped)
        return observation, reward, terminated, truncated, info


def finished_runs(study: str, runs: Path, seeds: Seeds) -> Iterator[tuple[int, Run]]:
    """Yield each finished run of a study, with its seed."""
    for planned in curves.planned(STUDIES[study].curves, seeds or STUDIES[study].seeds):
        if planned.is_done(runs):
            with open_readonly(planned.directory(runs)) as run:
                yield planned.config.seed, run


def test_agent(run: Run, env: Env, steps: int) -> EpochResult:
    """Run a test epoch of a run's agent in another environment."""
    return run_test_epoch(run.agent, env, steps, EPSILON, np.random.SeedSequence(run.config.seed))


def teleporter(runs: Path, seeds: Seeds) -> list[Row]:
    """Count the episodes in which the agents of the H-maze use the teleporter."""
    rows = []
    for seed, run in finished_runs("h-maze", runs, seeds):
        with closing(JumpCounter(make_env("h-maze"))) as env:
            run.copy_env_settings(env)
            result = test_agent(run, env, STEPS["teleporter"])
        rows.append({"seed": seed, "through_the_teleporter": env.episodes, **result._asdict()})
    return rows


def hazards(runs: Path, seeds: Seeds) -> list[Row]:
    """Test agents in the large maze with hazards: some were trained with hazards, some without."""
    rows = []
    for learned in ("large-maze", "large-maze-hazards"):
        for seed, run in finished_runs(learned, runs, seeds):
            with closing(make_env("large-maze-hazards")) as env:
                result = test_agent(run, env, STEPS["hazards"])
            rows.append({"learned_in": learned, "seed": seed, **result._asdict()})
    return rows


TESTS = {"teleporter": teleporter, "hazards": hazards}


def merged(rows: list[Row], recorded: list[Row]) -> list[Row]:
    """Return rows together with the recorded ones of other agents."""
    tested_now = {(row.get("learned_in"), row["seed"]) for row in rows}
    others = [row for row in recorded if (row.get("learned_in"), row["seed"]) not in tested_now]
    return sorted(others + rows, key=lambda row: (row.get("learned_in", ""), row["seed"]))


def main(
    name: Annotated[tyro.conf.Positional[str], tyro.conf.arg(help=", ".join(TESTS))],
    seeds: Annotated[Seeds, tyro.conf.arg(help="instead of the study's")] = (),
    runs: Annotated[Path, tyro.conf.arg(help="where the runs are")] = Path("runs/studies"),
    results: Annotated[Path, tyro.conf.arg(help="directory of results")] = Path("results/studies"),
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
    differ = [key for key, value in report.items() if recorded[key] != value]
    if differ:
        raise SystemExit(f"{', '.join(differ)} must be as in {out}: test all seeds again")
    rows = TESTS[name](runs, seeds)
    if not rows:
        raise SystemExit(f"{runs} has no finished run: run the studies first")
    rows = merged(rows, recorded["rows"])
    results.mkdir(parents=True, exist_ok=True)
    write_json({**report, "rows": rows}, out)
    show(Console(), name, rows)


if __name__ == "__main__":
    tyro.cli(main)
