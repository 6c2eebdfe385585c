"""Records of runs that were never run, with metrics that are known."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from vast.experiments.results import RunRecord

REWARD = "eval/reward_per_step"


def record(
    curves: Mapping[str, ArrayLike] | ArrayLike,
    *,
    task: str = "plus-maze",
    arm: str = "vast",
    seed: int = 0,
    fork: str | None = None,
    agent: str | None = None,
    every: int = 1000,
    steps: int | None = None,
    interventions: Sequence[str] = (),
    settings: Mapping[str, Any] | None = None,
    probes: Mapping[str, Any] | None = None,
) -> RunRecord:
    """Return a run with a row every so many steps; one list is that of the reward per step."""
    named = curves if isinstance(curves, Mapping) else {REWARD: curves}
    columns = {name: np.array(values, float) for name, values in named.items()}
    rows = len(next(iter(columns.values())))
    at = every * np.arange(1, rows + 1, dtype=float)
    config = {
        "task": task,
        "agent": agent or arm,
        "seed": seed,
        "steps": steps or rows * every,
        "interventions": list(interventions),
        "loop": {"log_every": every, "eval_every": every},
        "settings": dict(settings or {}),
    }
    return RunRecord(
        task=task,
        arm=arm,
        fork=fork,
        seed=seed,
        agent=agent or arm,
        label=arm,
        steps=steps or rows * every,
        config=config,
        versions={},
        processor="none",
        metrics={"step": at, "wall_seconds": at / 100, **columns},
        probes=probes or {},
    )
