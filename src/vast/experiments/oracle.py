"""The oracle: VaST's planning on states that are the true place and heading.

The observation is the pose, and its state counts bins: the Hamming distance of two states is the
number of bins of place and heading between them. Nothing is trained. All else is the agent of the
preset `cpu`, except for smoothing and, in one case, the last action in the state.

    python -m vast.experiments.oracle --out oracle.json
    python -m vast.experiments.oracle --out oracle.json --cases h-maze    # keep the other cases

Recorded results are those of `load_study("oracle")`.
"""

import json
import time
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import gymnasium
import numpy as np
import tyro
from gymnasium import spaces
from numpy.typing import NDArray

from vast.agents.bins import Scale, count_marks, marks_reached
from vast.agents.vast.agent import VaST
from vast.agents.vast.config import VaSTConfig
from vast.agents.vast.presets import preset
from vast.errors import unknown
from vast.experiments.run_directory import processor, versions
from vast.files import atomic_write
from vast.model import codes
from vast.tasks import make_env, task_named
from vast.training.plain import with_changes
from vast.training.protocol import Env

HEADINGS = 12
"""bits for the heading, which tell 24 bins apart"""


class Bins(NamedTuple):
    """Into which bins places are divided."""

    low: tuple[float, float]
    high: tuple[float, float]
    size: float
    """of a bin, in map units"""


class Case(NamedTuple):
    """A task, how long to train, and the states."""

    task: str
    steps: int
    bins: Bins
    smoothing: float
    last_action: bool


H_MAZE = (-1344, -576), (960, 576)
CASES = {
    "t-maze": Case("t-maze", 10_000, Bins((-320, -576), (320, 64), 48), 1.0, True),
    "plus-maze": Case("plus-maze", 15_000, Bins((-576, -576), (576, 576), 48), 1.0, True),
    # Here the next bin may be behind a wall, so its values say little about this one.
    "h-maze": Case("h-maze", 150_000, Bins(*H_MAZE, 72), 0.0, False),
    # Which matters more: a finer place, or how the agent moves?
    "h-maze-coarse": Case("h-maze", 150_000, Bins(*H_MAZE, 90), 0.0, False),
    "h-maze-coarse-last-action": Case("h-maze", 150_000, Bins(*H_MAZE, 90), 0.0, True),
    "large-maze": Case("large-maze", 150_000, Bins((-512, -512), (512, 512), 48), 0.0, False),
}


class PoseObservations(gymnasium.Wrapper[Any, Any, Any, Any]):
    """An environment whose observation is the pose instead of the image."""

    def __init__(self, env: Env) -> None:
        super().__init__(env)
        self.observation_space = spaces.Box(-np.inf, np.inf, (3,), np.float32)

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        """Start an episode."""
        _, info = self.env.reset(**options)
        return _pose(info), info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Take a step."""
        _, reward, terminated, truncated, info = self.env.step(action)
        return _pose(info), reward, terminated, truncated, info


def _pose(info: dict[str, Any]) -> NDArray[np.float32]:
    return np.array([info["x"], info["y"], info["angle"]], np.float32)


class PlaceBins:
    """Encodes poses as states: one bit per mark of place and heading."""

    def __init__(self, bins: Bins) -> None:
        self.bins = bins

    def encode(self, histories: NDArray[Any]) -> NDArray[np.uint64]:
        """Return the states of poses, [N, 1, 3]."""
        x, y, angle = np.moveaxis(histories.reshape(-1, 3).astype(float), 1, 0)
        along_x, along_y = self._scales
        parts = [marks_reached(x, along_x), marks_reached(y, along_y)]
        turned = np.floor(angle % 360 / 360 * 2 * HEADINGS)[:, None]
        # Half of a circle of marks is set, and turns with the heading.
        parts.append((turned - np.arange(HEADINGS)) % (2 * HEADINGS) < HEADINGS)
        return codes.pack(np.concatenate(parts, 1))

    @property
    def n_bits(self) -> int:
        """The number of bits of a state."""
        return HEADINGS + sum(map(count_marks, self._scales))

    @property
    def _scales(self) -> list[Scale]:
        low, high, size = self.bins
        return [(a, b, size) for a, b in zip(low, high, strict=True)]


def oracle_config(case: Case, n_bits: int) -> VaSTConfig:
    """Return the task's preset for states of this many bits."""
    changes = {
        "resize": None,
        "model.n_bits": n_bits,
        "extensions.smoothing": case.smoothing,
        "extensions.last_action": case.last_action,
    }
    return with_changes(preset("cpu", case.task, task_named(case.task).shape), changes)


def learn(name: str, seed: int, test_steps: int) -> dict[str, Any]:
    """Train an agent that knows where it is, and return the results of a test."""
    case = CASES[name]
    encoder = PlaceBins(case.bins)
    config = oracle_config(case, encoder.n_bits)
    with (
        closing(PoseObservations(make_env(case.task))) as env,
        closing(PoseObservations(make_env(case.task))) as test_env,
        closing(VaST(env, seed=seed, config=config, encoder=encoder)) as agent,
    ):
        begin = time.perf_counter()
        agent.learn(case.steps)
        seconds = time.perf_counter() - begin
        found = agent.evaluate(test_env, steps=test_steps, seed=seed)
        return {
            "case": name,
            "seed": seed,
            "steps": case.steps,
            "mean_return": found["mean_return"],
            "goals_per_1000_steps": found["goals"] * 1000 / test_steps,
            "states": len(agent.table),
            "wall_seconds": round(seconds, 1),
        }


def main(
    cases: Annotated[tuple[str, ...], tyro.conf.arg(help="which cases")] = tuple(CASES),
    seeds: Annotated[tuple[int, ...], tyro.conf.arg(help="which seeds")] = (0, 1, 2),
    test_steps: Annotated[int, tyro.conf.arg(help="environment steps of the test")] = 3000,
    out: Annotated[Path, tyro.conf.arg(help="the file of results")] = Path("oracle.json"),
) -> None:
    """Train and test the oracle, and record the results."""
    for name in cases:
        if name not in CASES:
            raise SystemExit(str(unknown("case", name, CASES)))
    known = json.loads(out.read_text()) if out.exists() else {"cases": {}, "runs": []}
    rows = [row for row in known["runs"] if row["case"] not in cases]
    for name in cases:
        for seed in seeds:
            found = learn(name, seed, test_steps)
            print(json.dumps(found), flush=True)
            rows.append({**found, "processor": processor(), **versions()})
    described = known["cases"] | {name: CASES[name]._asdict() for name in cases}
    with atomic_write(out) as unfinished:
        unfinished.write_text(json.dumps({"cases": described, "runs": rows}, indent=1) + "\n")


if __name__ == "__main__":
    tyro.cli(main)
