"""What the table could do with perfect codes: VaST's planning on the true place and heading.

The observation is the pose, and its code counts bins: the Hamming distance of two codes is how many
bins of place and heading lie between them. Nothing is trained. All else is the agent of the cpu
preset, but for smoothing and, in one case, the last action: exploration, restlessness, sweeping.

    python -m benchmarks.oracle
    python -m benchmarks.oracle --cases h-maze    # the runs of other cases are kept

The results go to results/oracle.json.
"""

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import gymnasium
import numpy as np
import tyro
from gymnasium import spaces
from numpy.typing import NDArray
from rich.console import Console

from benchmarks.report import machine, show, write_json
from vast import VaST
from vast.agents.vast.config import VaSTConfig
from vast.agents.vast.presets import cpu
from vast.envs.tasks import make_env, task_named
from vast.errors import unknown
from vast.model import codes
from vast.training.actor import spaces_of

HEADINGS = 12
"""bits for the heading: a circle of 24 bins"""


class Bins(NamedTuple):
    """How places are told apart."""

    low: tuple[float, float]
    high: tuple[float, float]
    size: float
    """units"""


class Case(NamedTuple):
    """A task, for how long it is learned, and its bins."""

    task: str
    steps: int
    bins: Bins
    smoothing: float
    last_action: bool


H_MAZE = (-1344, -576), (960, 576)
CASES = {
    "t-maze": Case("t-maze", 10_000, Bins((-320, -576), (320, 64), 48), 1.0, True),
    "plus-maze": Case("plus-maze", 15_000, Bins((-576, -576), (576, 576), 48), 1.0, True),
    # Here the next bin may lie behind a wall, so that neighbours tell little of each other.
    "h-maze": Case("h-maze", 150_000, Bins(*H_MAZE, 72), 0.0, False),
    # Is it the place that is not known well enough, or how one moves?
    "h-maze-coarse": Case("h-maze", 150_000, Bins(*H_MAZE, 90), 0.0, False),
    "h-maze-coarse-last-action": Case("h-maze", 150_000, Bins(*H_MAZE, 90), 0.0, True),
    "large-maze": Case("large-maze", 150_000, Bins((-512, -512), (512, 512), 48), 0.0, False),
}


class Poses(gymnasium.Wrapper[Any, Any, Any, Any]):
    """A world that shows where one is instead of what one sees."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        super().__init__(env)
        self.observation_space = spaces.Box(-np.inf, np.inf, (3,), np.float32)

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        """Begin an episode."""
        _, info = self.env.reset(**options)
        return _pose(info), info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Take a step."""
        _, reward, terminated, truncated, info = self.env.step(action)
        return _pose(info), reward, terminated, truncated, info


def _pose(info: dict[str, Any]) -> NDArray[np.float32]:
    return np.array([info["x"], info["y"], info["angle"]], np.float32)


class Encoder:
    """Codes of poses, in the place of a trained encoder."""

    def __init__(self, bins: Bins, n_actions: int) -> None:
        self.bins, self.n_actions, self.steps, self.fitted = bins, n_actions, 0, True

    def encode(self, poses: NDArray[Any], newest: bool = False) -> NDArray[np.uint64]:
        """Return the codes of poses, [N, 1, 3]."""
        x, y, angle = np.moveaxis(poses.reshape(-1, 3).astype(float), 1, 0)
        low, high, size = self.bins
        parts = [_scale(x, low[0], high[0], size), _scale(y, low[1], high[1], size)]
        turned = np.floor(angle % 360 / 360 * 2 * HEADINGS)[:, None]
        # Half of a circle of marks is set, and turns with the heading.
        parts.append((turned - np.arange(HEADINGS)) % (2 * HEADINGS) < HEADINGS)
        return codes.pack(np.concatenate(parts, 1))

    def publish(self) -> None:
        """Have nothing to publish."""

    def state_dict(self) -> dict[str, Any]:
        """Have nothing to save."""
        return {}

    @property
    def bits(self) -> int:
        """How many a code has."""
        low, high, size = self.bins
        return HEADINGS + sum(int((b - a) / size) for a, b in zip(low, high, strict=True))


def _scale(x: NDArray[Any], low: float, high: float, size: float) -> NDArray[np.bool_]:
    """Return which marks of a scale lie below each number."""
    marks = low + size * (1 + np.arange(int((high - low) / size)))
    below: NDArray[np.bool_] = x[:, None] >= marks
    return below


def oracle_config(case: Case, bits: int) -> VaSTConfig:
    """Return the task's own numbers, but for the model, which is not used."""
    own = cpu(case.task, task_named(case.task).shape)
    usual = cpu(None, (3,))
    return replace(
        own,
        resize=None,
        model=replace(usual.model, n_bits=bits, standardise=False),
        training=replace(own.training, burst=0, freeze_after=0, overlap=False, retabulate=0),
        planning=replace(own.planning, smoothing=case.smoothing),
        last_action=case.last_action,
    )


def learn(name: str, seed: int, test_steps: int) -> dict[str, Any]:
    """Return what an agent that knows where it is reaches."""
    case = CASES[name]
    env = Poses(make_env(case.task))
    encoder = Encoder(case.bins, spaces_of(env).n_actions)
    begin = time.perf_counter()
    agent = VaST(env, seed=seed, config=oracle_config(case, encoder.bits))
    mind: Any = agent.mind
    mind.tabulator = encoder
    agent.learn(case.steps)
    seconds = time.perf_counter() - begin
    tests = Poses(make_env(case.task))
    found = agent.evaluate(tests, steps=test_steps, seed=seed)
    agent.close()
    env.close()
    tests.close()
    return {
        "case": name,
        "seed": seed,
        "steps": case.steps,
        "mean_return": found["mean_return"],
        "goals_per_1000_steps": found["goals"] * 1000 / test_steps,
        "states": len(mind.table),
        "wall_seconds": round(seconds, 1),
    }


def main(
    cases: Annotated[tuple[str, ...], tyro.conf.arg(help="which cases")] = tuple(CASES),
    seeds: Annotated[tuple[int, ...], tyro.conf.arg(help="which seeds")] = (0, 1, 2),
    test_steps: Annotated[int, tyro.conf.arg(help="of the test at the end")] = 3000,
    out: Annotated[Path, tyro.conf.arg(help="the file of results")] = Path("results/oracle.json"),
) -> None:
    for name in cases:
        if name not in CASES:
            raise SystemExit(str(unknown("case", name, CASES)))
    known = json.loads(out.read_text()) if out.exists() else {"cases": {}, "runs": []}
    rows = [row for row in known["runs"] if row["case"] not in cases]
    for name in cases:
        for seed in seeds:
            found = learn(name, seed, test_steps)
            show(Console(), f"{name}, seed {seed}", [found])
            rows.append({**found, **machine("numpy", "numba", "vizdoom")})
    described = known["cases"] | {name: CASES[name]._asdict() for name in cases}
    write_json({"cases": described, "runs": rows}, out)


if __name__ == "__main__":
    tyro.cli(main)
