"""How much of a tree an agent's transition graph is.

In a tree every state has one predecessor, and no pair of state and action is taken twice. Planning
then has nothing to carry from one way to another.
"""

from typing import Any

import numpy as np

from vast.agents.table import TableAgent
from vast.errors import UserError
from vast.experiments.runs import Run
from vast.planning import TransitionTable

MOST = 10
"""predecessors that the histogram tells apart; its last bin has this many or more"""


def tree(run: Run) -> dict[str, Any]:
    """Return how many predecessors states have, and how often pairs were revisited."""
    if not isinstance(run.agent, TableAgent):
        raise UserError(f"the run's agent must have a table, got {run.agent.name}")
    return tree_likeness(run.agent.table)


def tree_likeness(table: TransitionTable) -> dict[str, Any]:
    """Return how many predecessors the states of a table have, and how often pairs were taken."""
    states, actions, following, terminals, counts = table.transitions()
    pairs = np.unique(np.stack([states, actions.astype(np.uint64)]), axis=1).shape[1]
    arrows = np.unique(np.stack([states, following])[:, ~terminals], axis=1)
    # Those states to which something leads.
    before = np.unique(arrows[1], return_counts=True)[1]
    taken = int(counts.sum())
    return {
        "states": len(table.states()),
        "pairs": pairs,
        "transitions": taken,
        "revisited": 1 - pairs / taken if taken else None,
        "mean_predecessors": float(before.mean()) if len(before) else None,
        "several_predecessors": float((before > 1).mean()) if len(before) else None,
        "predecessors": np.bincount(np.minimum(before, MOST), minlength=MOST + 1).tolist(),
    }
