"""What Fig. 1C, D shows: where the states of one forced run were seen before, and all values after.

A state's sightings are the frames of the replay that it holds, with the poses at which they were
seen.
"""

from contextlib import closing
from typing import Any

import numpy as np

from vast.agents.vast.agent import VaST
from vast.errors import UserError
from vast.experiments.one_run import OneRun, Views, show_run, values
from vast.experiments.probes.images import image_text
from vast.experiments.probes.values import by_state, rounded
from vast.experiments.runs import Run

EXAMPLES = 4
"""earlier observations of one state that are kept"""


def sightings(run: Run) -> dict[str, Any]:
    """Show the run's agent the forced run; its copy of the agent changes."""
    if not isinstance(run.agent, VaST):
        raise UserError(f"the run's agent must be 'vast', got {run.agent.name!r}")
    earlier, numbers = _sightings(run.agent)
    with closing(run.config.make_env()) as env:
        found = show_run(run.agent, env, seed=run.config.seed)
    after, _ = _sightings(run.agent)
    value = values(run.agent.table, after.states)
    known = np.isfinite(value)
    everywhere = Views(after.poses[known], after.frames, after.states[known])
    states = by_state(everywhere, value[known], value[known])
    return {
        "run": {
            "poses": rounded(found.run.poses, 1),
            "before": rounded(found.run_values[0], 4),
            "after": rounded(found.run_values[1], 4),
            **_seen_before(found, earlier),
        },
        "example": _example(run.agent, found, earlier, numbers),
        "states": {name: states[name] for name in ("mean_poses", "after", "sightings")},
        "backups": found.backups,
        "same_networks": found.same_networks,
    }


def _sightings(agent: VaST) -> tuple[Views, np.ndarray]:
    """Return the poses and states of the stored frames that have a state, and their numbers."""
    numbers = np.arange(agent.replay.oldest, agent.replay.end)
    states, assigned = agent.replay.states(numbers)
    chosen = numbers[assigned]
    return Views(agent.replay.poses(chosen), np.empty(0), states[assigned]), chosen


def _seen_before(found: OneRun, earlier: Views) -> dict[str, Any]:
    """Return the mean pose of the earlier sightings of each state of the run; None: it is new."""
    unused = np.zeros(len(earlier.states))
    table = by_state(earlier, unused, unused)
    poses = dict(zip(table["states"], table["mean_poses"], strict=True))
    counts = dict(zip(table["states"], table["sightings"], strict=True))
    names = [f"{state:016x}" for state in found.run.states.tolist()]
    fresh = found.new.tolist()
    return {
        "seen_at": [
            None if new else poses.get(name) for name, new in zip(names, fresh, strict=True)
        ],
        "sightings": [
            0 if new else counts.get(name, 0) for name, new in zip(names, fresh, strict=True)
        ],
    }


def _example(
    agent: VaST, found: OneRun, earlier: Views, numbers: np.ndarray
) -> dict[str, Any] | None:
    """Return the observations of that state of the run that was seen most often before."""
    counts = [
        0 if new else int((earlier.states == state).sum())
        for state, new in zip(found.run.states, found.new, strict=True)
    ]
    step = int(np.argmax(counts))
    if not counts[step]:
        return None
    same = numbers[earlier.states == found.run.states[step]]
    chosen = same[np.linspace(0, len(same) - 1, min(EXAMPLES, len(same))).astype(int)]
    return {
        "step": step,
        "observation": image_text(found.run.frames[step]),
        "earlier": [image_text(frame) for frame in agent.replay.frames(chosen)],
    }
