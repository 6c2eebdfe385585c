"""Longer test epochs: whether trained agents use the teleporter, whether they avoid hazards."""

from contextlib import closing
from typing import Any

import numpy as np

from vast.experiments.runs import Run
from vast.tasks import make_env
from vast.training.protocol import Env
from vast.training.rollout import run_test_epoch

STEPS = {"teleporter": 3000, "hazards": 9000}
"""environment steps of each test"""
EPSILON = 0.05


def tested(run: Run, env: Env, steps: int) -> dict[str, Any]:
    """Return the results of a test epoch of a run's agent; None where nothing is known."""
    seed = np.random.SeedSequence(run.config.seed)
    found = run_test_epoch(run.agent, env, steps, EPSILON, seed).summary()
    known = {name: None if value != value else value for name, value in found.items()}
    return {"steps": steps, "epsilon": EPSILON, **known}


def teleporter(run: Run) -> dict[str, Any]:
    """Test an agent of the H-maze in the map it was in last, with or without a teleporter."""
    with closing(make_env(run.config.task)) as env:
        run.copy_env_settings(env)
        return tested(run, env, STEPS["teleporter"])


def hazards(run: Run) -> dict[str, Any]:
    """Test an agent of the large maze with hazards, whether it was trained with them or not."""
    with closing(make_env("large-maze-hazards")) as env:
        return tested(run, env, STEPS["hazards"])
