"""What if the rewards were different? Asked of a copy of the table, which plans anew.

Experience stays as it is counted; no environment, network or frame is needed.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vast.analysis.states import Floats, States, collect
from vast.errors import UserError
from vast.planning import TransitionTable
from vast.replay import Replay

LONGEST_PATH = 1000
GOAL_RADIUS = 1 / 8
"""of the size of the world: rewards this close to each other are of one goal"""
LEAST_VISITS = 3
"""of a state that gets a new goal: that the agent can go there is known for certain"""


STARTS = 50
"""states in which episodes began, of which one is chosen"""


@dataclass(frozen=True)
class Path:
    """Where greedy actions lead in the table's own model."""

    states: NDArray[np.uint64]
    end: str
    """"terminal", "open" (nothing is known to follow), or "loop" """

    def __len__(self) -> int:
        return len(self.states)


@dataclass(frozen=True)
class WhatIf:
    """The values before and after a change of the table, planned to the end both times."""

    change: str
    """what was changed, in words"""
    changed: int
    """how many states it concerned"""
    backups: int
    """until all values had followed"""
    before: Floats
    """[S] V of each state"""
    after: Floats
    """[S] the same after the change"""
    paths: tuple[Path, Path] | None
    """from one start, before and after"""


Change = Callable[[TransitionTable, States], int]
"""changes a table; returns how many states it concerned"""


def what_if(
    table: TransitionTable, states: States, change: Change, words: str, start: int | None = None
) -> WhatIf:
    """Return what a change does to the values, and to the greedy path from a start.

    The table itself stays as it is.
    """
    imagined = copy.deepcopy(table)
    imagined.sweep()
    before = collect(imagined).value
    path = None if start is None else greedy_path(imagined, start)
    done = imagined.total_backups
    changed = change(imagined, states)
    imagined.sweep()
    values = collect(imagined)
    rows = values.rows(states.keys)  # a state to which nothing leads any more may be gone
    after = np.where(rows >= 0, values.value[rows], 0.0)
    paths = None if path is None or start is None else (path, greedy_path(imagined, start))
    return WhatIf(words, changed, imagined.total_backups - done, before, after, paths)


def reverse_rewards(table: TransitionTable, states: States) -> int:
    """Let goals punish and penalties reward (Fig. 6): reverse the rewards at ends of episodes.

    If nothing was ever paid there, all rewards are reversed.
    """
    rewards = np.nan_to_num(states.reward)
    at_ends = np.where(states.ends > 0, rewards, 0.0)
    rows, actions = np.nonzero(at_ends if at_ends.any() else rewards)
    for row, action in zip(rows.tolist(), actions.tolist(), strict=True):
        table.set_reward(int(states.keys[row]), action, -float(states.reward[row, action]))
    return len(np.unique(rows))


def move_goal(table: TransitionTable, states: States) -> int:
    """Let the best goal pay nothing, and the place farthest from it end episodes with its reward.

    A goal is where episodes ended with a reward; states count as places by their mean poses.
    UserError if there is no goal, or if its place is unknown.
    """
    goal, best = best_goal(states)
    place = states.pose[:, :2]
    for row in goal.tolist():
        for action in np.flatnonzero(states.reward[row] > 0).tolist():
            table.set_reward(int(states.keys[row]), action, 0.0)
    distance = np.hypot(*(place - place[goal].mean(axis=0)).T)
    distance[states.visits < LEAST_VISITS] = np.nan
    farthest = place[np.nanargmax(distance)]
    near = np.hypot(*(place - farthest).T) <= GOAL_RADIUS * _size(place) / 2
    new = np.flatnonzero(near & (states.visits > 0))
    for row in new.tolist():
        _end_here(table, int(states.keys[row]), best)
    return len(goal) + len(new)


def best_goal(states: States) -> tuple[NDArray[np.int64], float]:
    """Return the rows of the states from which the best goal was reached, and its reward."""
    place = states.pose[:, :2]
    known = np.isfinite(place).all(axis=1, keepdims=True)
    pays = (states.ends > 0) & (states.reward > 0) & known
    if not pays.any():
        raise UserError("no episode ended with a reward at a known place")
    reward = np.where(pays, states.reward, -np.inf)
    best = int(reward.max(axis=1).argmax())
    near = np.hypot(*(place - place[best]).T) <= GOAL_RADIUS * _size(place)
    return np.flatnonzero(near & pays.any(axis=1)), float(reward.max())


def _size(place: Floats) -> float:
    """Return how long the longer side of the world is."""
    known = place[np.isfinite(place).all(axis=1)]
    return float(np.ptp(known, axis=0).max())


def _end_here(table: TransitionTable, state: int, reward: float) -> None:
    """Replace all that followed from a state by an end with a reward, whatever the action."""
    gone = table.successors(state)
    rewards = [table.mean_reward(state, action) for action in gone.actions.tolist()]
    times = gone.counts
    table.delete_many(
        np.repeat(gone.states, times),
        np.repeat(gone.actions, times),
        np.repeat(rewards, times),
        np.repeat(gone.next_states, times),
        np.repeat(gone.terminals, times),
    )
    for action in np.unique(gone.actions).tolist():
        table.add(state, action, reward, None)


def greedy_path(table: TransitionTable, start: int) -> Path:
    """Return where the best actions lead from a state.

    What follows an action is the successor met most often, of equals the best, that is not on the
    path yet: states in which an action mostly changed nothing would end every path otherwise.
    """
    path, end = [start], "loop"
    while len(path) < LONGEST_PATH:
        q = table.q(path[-1])
        if np.isnan(q).all():
            end = "open"
            break
        following = table.successors(path[-1])
        chosen = np.flatnonzero(following.actions == np.nanargmax(q))
        values = [table.value(key) for key in following.next_states[chosen].tolist()]
        chosen = chosen[np.lexsort([np.negative(values), -following.counts[chosen]])]
        if following.terminals[chosen[0]]:
            end = "terminal"
            break
        ahead = [key for key in following.next_states[chosen].tolist() if key not in path]
        if not ahead:
            break
        path.append(ahead[0])
    return Path(np.array(path, np.uint64), end)


def usual_start(table: TransitionTable, states: States, replay: Replay) -> int | None:
    """Return a state in which many episodes began; None if none is in the table.

    The most frequent one from which greedy actions lead to an end, if there is one among the first.
    """
    numbers = np.arange(replay.oldest, replay.end)
    _, begun = replay.actions_before(numbers)
    keys, assigned = replay.states(numbers[~begun])
    keys = keys[assigned]
    keys, counts = np.unique(keys[states.rows(keys) >= 0], return_counts=True)
    usual = keys[np.argsort(-counts, kind="stable")][:STARTS].tolist()
    ending = (key for key in usual if greedy_path(table, key).end == "terminal")
    return next(ending, usual[0] if usual else None)
