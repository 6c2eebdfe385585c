"""The numbers behind Fig. 1D: values along one forced run, before and after it."""

from contextlib import closing
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vast.agents.vast.agent import VaST
from vast.errors import UserError
from vast.experiments.one_run import Views, show_run
from vast.experiments.runs import Run


def one_run(run: Run) -> dict[str, Any]:
    """Show the run's agent the forced run, and return the values; its copy of the agent changes."""
    if not isinstance(run.agent, VaST):
        raise UserError(f"the run's agent must be 'vast', got {run.agent.name!r}")
    with closing(run.config.make_env()) as env:
        found = show_run(run.agent, env, seed=run.config.seed)
    return {
        "around": by_state(found.around, *found.around_values),
        "run": {
            "poses": rounded(found.run.poses, 1),
            "states": [f"{state:016x}" for state in found.run.states.tolist()],
            "before": rounded(found.run_values[0], 4),
            "after": rounded(found.run_values[1], 4),
        },
        "backups": found.backups,
        "same_networks": found.same_networks,
    }


def by_state(
    views: Views, before: NDArray[np.float64], after: NDArray[np.float64]
) -> dict[str, Any]:
    """Return the mean pose of each state that was seen, how often it was, and its values."""
    states, first, inverse, counts = np.unique(
        views.states, return_index=True, return_inverse=True, return_counts=True
    )
    places = np.zeros((len(states), 2))
    np.add.at(places, inverse, views.poses[:, :2])
    turned = np.zeros(len(states), complex)
    np.add.at(turned, inverse, np.exp(1j * np.deg2rad(views.poses[:, 2])))
    headings = np.rad2deg(np.angle(turned)) % 360
    poses = np.column_stack([places / counts[:, None], headings])
    return {
        "states": [f"{state:016x}" for state in states.tolist()],
        "sightings": counts.tolist(),
        "mean_poses": rounded(poses, 1),
        "before": rounded(before[first], 4),
        "after": rounded(after[first], 4),
    }


def rounded(values: NDArray[np.float64], digits: int) -> list[Any]:
    """Return numbers for JSON; None where they are not known."""
    if values.ndim > 1:
        return [rounded(row, digits) for row in values]
    return [None if np.isnan(value) else round(float(value), digits) for value in values]
