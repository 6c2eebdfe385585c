"""What one can ask: "what if a reward were here, a wall there?" Each edit is a small frozen object.

An edit changes the model that a table has counted: its transitions and their mean rewards. The
sweep that follows is up to the caller. Places are given in the coordinates of the map, so that an
edit means the same to everyone who has the run.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from vast.analysis.states import find_rows
from vast.errors import UserError
from vast.explorer.places import Places
from vast.planning import Transitions, TransitionTable

Point = tuple[float, float]
Keys = NDArray[np.uint64]
Points = NDArray[np.float64]


class Edit(Protocol):
    """One change of a table."""

    def apply(self, table: TransitionTable, places: Places) -> TransitionTable:
        """Change the table and return it, or return another one in its place.

        UserError, and nothing changed, if there is nothing that it would change.
        """
        ...


class Steps(NamedTuple):
    """Transitions in columns as `add_many` and `delete_many` take them, repeated ones included."""

    states: Keys
    actions: NDArray[np.int64]
    rewards: NDArray[np.float64]
    next_states: Keys
    terminals: NDArray[np.bool_]

    @classmethod
    def of(cls, table: TransitionTable, listed: Transitions) -> "Steps":
        """Return listed transitions as often as they were counted, each with its mean reward.

        To delete a transition with the mean reward leaves the mean of the others as it was.
        """
        pairs = table.pairs()
        order = np.argsort(pairs.states)
        rows = order[find_rows(pairs.states[order], listed.states)]
        rewards = pairs.rewards[rows, listed.actions]
        times = listed.counts
        return cls(
            np.repeat(listed.states, times),
            np.repeat(listed.actions, times),
            np.repeat(rewards, times),
            np.repeat(listed.next_states, times),
            np.repeat(listed.terminals, times),
        )

    @classmethod
    def leaving(cls, table: TransitionTable, keys: Keys, action: int | None = None) -> "Steps":
        """Return the transitions that leave these states, by one action or by any."""
        listed = table.transitions()
        chosen = np.isin(listed.states, keys)
        if action is not None:
            chosen &= listed.actions == action
        return cls.of(table, some(listed, chosen))


@dataclass(frozen=True)
class Paint:
    """A reward, or a penalty, for every action taken in the states under a brush."""

    points: tuple[Point, ...]
    """the stroke of the brush"""
    radius: float
    reward: float
    ends: bool = True
    """whether it ends the episode, as a goal does; otherwise it can be collected again and again"""

    def apply(self, table: TransitionTable, places: Places) -> TransitionTable:
        """Set the rewards."""
        require_reward(table, self.reward)
        keys = places.keys[places.near_line(np.array(self.points), self.radius)]
        steps = Steps.leaving(table, keys)
        if not len(steps.states):
            raise UserError(
                "nothing is painted: no action was ever taken in a state under the brush"
            )
        if self.ends:
            table.delete_many(*steps)
            n = len(steps.states)
            nowhere, ended = np.zeros(n, np.uint64), np.ones(n, np.bool_)
            table.add_many(steps.states, steps.actions, np.full(n, self.reward), nowhere, ended)
        else:
            set_rewards(table, np.isin(table.pairs().states, keys), self.reward)
        return table


@dataclass(frozen=True)
class Block:
    """A wall: no transition crosses the line any more."""

    start: Point
    end: Point

    def apply(self, table: TransitionTable, places: Places) -> TransitionTable:
        """Remove the transitions between states on different sides of the line."""
        listed = table.transitions()
        sources, targets = places.rows(listed.states), places.rows(listed.next_states)
        known = (sources >= 0) & (targets >= 0) & ~listed.terminals
        crossing = known & crosses(
            places.at[sources], places.at[targets], np.array(self.start), np.array(self.end)
        )
        if not crossing.any():
            raise UserError("nothing is blocked: no transition crosses this line")
        table.delete_many(*Steps.of(table, some(listed, crossing)))
        return table


@dataclass(frozen=True)
class Shortcut:
    """An action that leads from the states around one place to those around another."""

    start: Point
    end: Point
    radius: float
    action: int

    def apply(self, table: TransitionTable, places: Places) -> TransitionTable:
        """Let the action lead there, heading the same way, in place of what it did before."""
        if not 0 <= self.action < table.n_actions:
            raise UserError(f"action must be between 0 and {table.n_actions - 1}")
        sources = places.near_line(np.array([self.start]), self.radius)
        targets = places.near_line(np.array([self.end]), self.radius)
        pairs = table.pairs()
        acting = pairs.states[(pairs.counts > 0).any(axis=1)]
        sources = sources[np.isin(places.keys[sources], acting)]
        if not len(targets):
            targets = np.array([places.nearest(*self.end)])
        if not len(sources):
            raise UserError("a shortcut must begin at a state in which an action was taken")
        before = Steps.leaving(table, places.keys[sources], self.action)
        table.delete_many(*before)
        order = np.argsort(pairs.states)
        rows = order[find_rows(pairs.states[order], places.keys[sources])]
        counts, rewards = pairs.counts[rows], pairs.rewards[rows]
        times = np.maximum(counts[:, self.action], 1)
        # What the action gave there; if it was never taken, the mean of the others.
        mean = np.nan_to_num(np.nanmean(rewards, axis=1))
        reward = np.where(counts[:, self.action] > 0, rewards[:, self.action], mean)
        chosen = targets[turn(places.heading[sources], places.heading[targets]).argmin(axis=1)]
        n = int(times.sum())
        table.add_many(
            np.repeat(places.keys[sources], times),
            np.full(n, self.action),
            np.repeat(reward, times),
            np.repeat(places.keys[chosen], times),
            np.zeros(n, np.bool_),
        )
        return table


@dataclass(frozen=True)
class Shown:
    """Transitions that were seen on a run, as if the agent had made them."""

    name: str
    """of the run"""
    steps: Steps

    def apply(self, table: TransitionTable, places: Places) -> TransitionTable:
        """Add the transitions."""
        table.add_many(*self.steps)
        return table


@dataclass(frozen=True)
class Reverse:
    """All rewards become penalties, and the reverse."""

    def apply(self, table: TransitionTable, places: Places) -> TransitionTable:
        """Change the sign of every mean reward."""
        rewarded = (np.nan_to_num(table.pairs().rewards) != 0).any(axis=1)
        if not rewarded.any():
            raise UserError("nothing is reversed: no reward was ever received")
        set_rewards(table, rewarded, None)
        return table


@dataclass(frozen=True)
class Discount:
    """Another discount; all values are planned anew."""

    discount: float

    def apply(self, table: TransitionTable, places: Places) -> TransitionTable:
        """Return a table with the same transitions and another discount."""
        if not 0 <= self.discount <= MAX_DISCOUNT:
            raise UserError(f"discount must be between 0 and {MAX_DISCOUNT}, got {self.discount}")
        return rebuilt(table, self.discount)


MAX_DISCOUNT = 0.9999
"""values that look 10 000 steps ahead"""


def some(listed: Transitions, chosen: NDArray[np.bool_]) -> Transitions:
    """Return some of the transitions."""
    columns: list[NDArray[Any]] = [column[chosen] for column in listed]
    return Transitions(*columns)


def rebuilt(table: TransitionTable, discount: float | None = None) -> TransitionTable:
    """Return a table with the same transitions and mean rewards in which nothing is planned yet."""
    gamma = table.discount if discount is None else discount
    new = TransitionTable(table.n_actions, gamma, table.min_priority, table.queue)
    new.add_many(*Steps.of(table, table.transitions()))
    return new


def require_reward(table: TransitionTable, reward: float) -> None:
    """Raise UserError if a table cannot hold such a reward."""
    if not abs(reward) <= min(table.max_reward, MAX_REWARD):
        raise UserError(f"a reward must be between -{MAX_REWARD:g} and {MAX_REWARD:g}")


MAX_REWARD = 1e6


def set_rewards(table: TransitionTable, rows: NDArray[np.bool_], reward: float | None) -> None:
    """Set the reward of every action taken in these rows of `pairs`; None reverses it."""
    pairs = table.pairs()
    chosen, actions = np.nonzero((pairs.counts > 0) & rows[:, None])
    means = -pairs.rewards[chosen, actions] if reward is None else np.full(len(chosen), reward)
    for state, action, mean in zip(
        pairs.states[chosen].tolist(), actions.tolist(), means.tolist(), strict=True
    ):
        table.set_reward(state, action, mean)


def crosses(a: Points, b: Points, c: Points, d: Points) -> NDArray[np.bool_]:
    """Tell for each segment from a to b, [n, 2], whether it crosses the one from c to d.

    A segment that ends on the line is on its left.
    """

    def left(p: Points, q: Points, r: Points) -> NDArray[np.bool_]:
        one, other = q - p, r - p
        area: Points = one[..., 0] * other[..., 1] - one[..., 1] * other[..., 0]
        found: NDArray[np.bool_] = area >= 0
        return found

    crossing: NDArray[np.bool_] = left(c, d, a) != left(c, d, b)
    crossing &= left(a, b, c) != left(a, b, d)
    return crossing


def turn(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return by how many degrees headings differ, [n, m]; 0 where one is unknown."""
    between = np.abs((one[:, None] - other[None] + 180) % 360 - 180)
    return np.nan_to_num(between)
