"""How well an agent's states tell places apart, and which values it gives them.

The agent walks through its maze. At each step its place is estimated from its state alone, as the
mean of the places that had the nearest states in other episodes. The error is the distance from
the true place. `vast.analysis.places` draws it.
"""

from contextlib import closing
from itertools import count, islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vast.agents.table import TableAgent
from vast.errors import UserError
from vast.experiments.runs import Run
from vast.tasks import task_named
from vast.training.protocol import Env
from vast.training.rollout import rollout

STEPS = 3000
EPSILON = 0.05
NEAREST = 5
"""states from which a place is estimated"""
STRIP = 200.0
"""map units; the summary has one row per strip of this width"""


class Walk(NamedTuple):
    """Where the agent was at each step, and what it made of that."""

    poses: NDArray[np.float64]
    """[n, 3], x and y in map units, heading in degrees"""
    states: NDArray[np.uint64]
    values: NDArray[np.float64]
    """of the best action"""
    episodes: NDArray[np.int64]


def walk(agent: TableAgent, env: Env, seed: int, steps: int = STEPS) -> Walk:
    """Let an agent walk through an environment."""
    policy = agent.policy(EPSILON, seed)
    poses, states, values, episodes = [], [], [], []
    for step in islice(rollout(policy, env, count()), steps):
        poses.append((step.info["x"], step.info["y"], step.info["angle"]))
        states.append(policy.state())
        values.append(policy.q_values().max())
        episodes.append(step.episode)
    return Walk(np.array(poses), np.array(states, np.uint64), np.array(values), np.array(episodes))


def walk_of(run: Run) -> Walk:
    """Let the agent of a run walk through its maze; UserError if it has no states or no places."""
    config, agent = run.config, run.agent
    if not task_named(config.task).is_doom:
        raise UserError(f"the run must be in a Doom maze, got {config.task}")
    if not isinstance(agent, TableAgent):
        raise UserError(f"the run's agent must have a table, got {agent.name}")
    with closing(config.make_env()) as env:
        run.copy_env_settings(env)
        return walk(agent, env, config.seed)


def errors(walked: Walk) -> NDArray[np.float64]:
    """Return the error of each place that is estimated from the states of other episodes."""
    found = []
    places = walked.poses[:, :2]
    for place, state, episode in zip(places, walked.states, walked.episodes, strict=True):
        distances = np.bitwise_count(walked.states ^ state).astype(np.int64)
        distances[walked.episodes == episode] = np.iinfo(np.int64).max
        nearest = np.argsort(distances, kind="stable")[:NEAREST]
        found.append(np.hypot(*(places[nearest].mean(0) - place)))
    return np.array(found)


def strips(walked: Walk, wrong: NDArray[np.float64]) -> list[dict[str, Any]]:
    """Return errors and values from the left of the map to the right."""
    strip = np.floor(walked.poses[:, 0] / STRIP).astype(np.int64)
    return [
        {
            "from_x": int(number * STRIP),
            "steps": int((strip == number).sum()),
            "median_error": round(float(np.median(wrong[strip == number])), 1),
            "median_value": round(float(np.median(walked.values[strip == number])), 3),
        }
        for number in np.unique(strip)
    ]


def places(run: Run) -> dict[str, Any]:
    """Return the probe: the median error, and errors and values by strip."""
    walked = walk_of(run)
    wrong = errors(walked)
    return {
        "walked_steps": STEPS,
        "epsilon": EPSILON,
        "median_error": round(float(np.median(wrong)), 1),
        "strips": strips(walked, wrong),
    }
